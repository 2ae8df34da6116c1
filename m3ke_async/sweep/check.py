"""What is wrong with the cells of a sweep, as far as it is known before any of them begins."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.evaluation import make_evaluation
from m3ke_async.lookup import find_price, find_suite
from m3ke_async.profile import Hosting
from m3ke_async.progress import Silent
from m3ke_async.providers import load_profile, parse_model
from m3ke_async.settings import RunSettings
from m3ke_async.target import find_target
from m3ke_async.text import by_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from m3ke_async.suite import Suite
    from m3ke_async.sweep.cells import Cell
    from m3ke_async.target import Target


def wrong_cells(cells: Sequence[Cell], *, here: bool) -> list[str]:
    """Why cells cannot work, a line for each reason; none where all can.

    Args:
        cells: of the sweep.
        here: whether they run on this machine; others may have other suites, keys, engines and models.
    """
    target_of, suite_of = cache(_target_of), cache(find_suite)
    return by_reason(
        (cell.label, reason)
        for cell in cells
        for reason in (
            _refused(cell.settings, target_of, suite_of) if here else _refused_anywhere(cell.settings)
        )
    )


def _refused_anywhere(settings: RunSettings) -> Iterator[str]:
    try:
        profile = load_profile(parse_model(settings.model)[0])
        if not settings.serve and profile.hosting is not Hosting.EMBEDDED:
            find_target(settings, Silent(), sends=False)
    except UsageError as error:
        yield str(error)


def _refused(
    settings: RunSettings,
    target_of: Callable[[RunSettings], Target],
    suite_of: Callable[[str | None, str], Suite],
) -> Iterator[str]:
    """Why `run` would refuse this before it asks anything."""
    target: Target | None = None
    suite: Suite | None = None
    try:
        target = target_of(_who(settings))
        find_price(settings, target)
    except UsageError as error:
        yield str(error)
    try:
        suite = suite_of(settings.data, settings.suite)
    except UsageError as error:
        yield str(error)
    if target is None or suite is None:
        return
    alike = replace(settings, skip_overlap=False)  # finding them takes long, and refuses nothing
    try:
        make_evaluation(alike, suite, target.profile, target.model, target.identities[0])
    except UsageError as error:
        yield str(error)


def _who(settings: RunSettings) -> RunSettings:
    """The part of the settings that says who is asked, which many cells share."""
    return replace(
        RunSettings(settings.model),
        protocol=settings.protocol,
        base_url=settings.base_url,
        serve=settings.serve,
        api_key_env=settings.api_key_env,
    )


def _target_of(settings: RunSettings) -> Target:
    return find_target(settings, Silent(), fetches=False)
