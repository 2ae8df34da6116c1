"""Models that their provider shuts down: when, and what to ask instead."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from m3ke_async.profile import EndedModel
from m3ke_async.providers import title_of
from m3ke_async.rules import Certainty
from m3ke_async.text import counted, one_line

if TYPE_CHECKING:
    from datetime import date

    from m3ke_async.profile import Profile

_LIST = "its list of models"


def today() -> date:
    """The day on this machine."""
    return datetime.now().astimezone().date()


def ending_of(profile: Profile, model: str, listed: date | None) -> EndedModel | None:
    """When a model ends or ended: by the server's own list, else by the provider's file.

    Args:
        profile: of the provider.
        model: its name there.
        listed: the day that the server's list of models gives.
    """
    known = profile.end_of(model)
    if listed is None:
        return known
    return replace(known or EndedModel(model, listed), on=listed, certainty=Certainty.MEASURED, source=_LIST)


def ending_line(profile: Profile, ending: EndedModel, day: date) -> str:
    """One line for people, as of a day: when, by whose word, and where to turn."""
    name = one_line(ending.model)
    said = f" ({ending.source or ending.certainty})"
    if ending.on <= day:
        line = f"{profile.title} shut {name} down on {ending.on}{said}"
    else:
        days = (ending.on - day).days
        line = f"{profile.title} will shut {name} down on {ending.on}, in {counted(days, 'day')}{said}"
    if ending.instead:
        line += f"; it names {ending.instead} in its place"
    if ending.elsewhere:
        line += f"; it may still be reached through {' or '.join(map(title_of, ending.elsewhere))}"
    return line
