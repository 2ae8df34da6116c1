"""What the settings of a run mean: suite, price, what is asked, and the folder. Nothing is made or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.evaluation import Evaluation, make_evaluation
from m3ke_async.places import default_suite_path, user_path
from m3ke_async.rundir import RunDir, checked_name, run_name
from m3ke_async.suite import AUTO, Suite, load_suite
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.target import price_of

if TYPE_CHECKING:
    from m3ke_async.settings import RunSettings
    from m3ke_async.tally import Price
    from m3ke_async.target import Target


def find_suite(data: str | None, name: str = AUTO) -> Suite:
    """The suite that `--data` and `--suite` mean.

    Raises:
        UsageError: none was given and none was fetched, or the one that is named is not M3KE.
    """
    if data is None and name not in (AUTO, SuiteName.M3KE):
        raise UsageError(f"--suite {name} needs --data PATH: m3ke data fetch gets M3KE alone")
    path = data if data is not None else default_suite_path()
    if path is None:
        raise UsageError(
            "no data: get M3KE by `m3ke data fetch`, give a folder or zip by --data, or try --data sample"
        )
    return load_suite(path, name)


def find_price(settings: RunSettings, target: Target) -> Price | None:
    """What tokens cost, where it is known.

    Raises:
        UsageError: money is limited, and nobody knows what is spent.
    """
    price = price_of(settings, target.profile, target.model)
    told = target.profile.usage.cost and not settings.batch  # in each reply
    if settings.max_cost is not None and price is None and not told:
        raise UsageError(
            f"--max-cost needs a price, and none is known for {settings.model}: give --price IN,OUT, "
            "in money per million tokens, or limit tokens by --max-tokens-total"
        )
    return price


def find_evaluation(settings: RunSettings, suite: Suite, target: Target) -> Evaluation:
    """What is asked of a target: where a run has begun at one of its addresses, under that one.

    So a run goes on when servers are added, or given in another order, and nothing is bought twice.

    Raises:
        UsageError: the suite lacks what the settings ask for, or the name of the run is none.
    """
    found = evaluations(settings, suite, target)
    for evaluation in found if len(found) > 1 else ():
        begun = run_directory(evaluation).read()
        if begun is not None and begun["identity"]["address"] == evaluation.address:
            return evaluation
    return found[0]


def evaluations(settings: RunSettings, suite: Suite, target: Target) -> tuple[Evaluation, ...]:
    """The same under each of a target's addresses; where none has begun, the first is to.

    Raises:
        UsageError: as of `find_evaluation`.
    """
    return tuple(
        make_evaluation(settings, suite, target.profile, target.model, address)
        for address in target.identities
    )


def run_directory(evaluation: Evaluation) -> RunDir:
    """Where a run lies, whether it has begun or not.

    Raises:
        UsageError: the name that the user gave for it is none.
    """
    settings = evaluation.settings
    name = (
        checked_name(settings.name + settings.shard.suffix)
        if settings.name is not None
        else run_name(
            evaluation.identity(),
            provider=evaluation.profile.name,
            model=evaluation.model,
            split=settings.split,
            shots=settings.shots,
            shard=settings.shard,
        )
    )
    return RunDir(user_path(settings.results) / name)
