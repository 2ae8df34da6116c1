"""Runs that asked parts of the same, such as shards, put together into the undivided run. Offline.

The replies of each go into the store beside the new run, under the same keys as if it had asked
them, so that whatever is still missing is asked by the undivided command and nothing else.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import UsageError
from m3ke_async.evaluation import make_evaluation
from m3ke_async.lookup import run_directory
from m3ke_async.record import stamp
from m3ke_async.reopen import reopen, stored_replies
from m3ke_async.replies import in_store, open_store
from m3ke_async.request import Outcome, Reply
from m3ke_async.results import write_results
from m3ke_async.run import RunResult, in_batches
from m3ke_async.rundir import differences
from m3ke_async.shard import WHOLE
from m3ke_async.store import Failure
from m3ke_async.tally import Ledger
from m3ke_async.target import price_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.replies import Find
    from m3ke_async.rundir import RunDir
    from m3ke_async.store import ReplyStore


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the runs, its run.json, and what it asked."""

    directory: RunDir
    record: dict[str, Any]
    evaluation: Evaluation


def merge(
    runs: Sequence[RunDir], results: Path, *, data: str | None, warn: Callable[[str], None]
) -> RunResult:
    """Write the run of which these are parts.

    Args:
        runs: at least one.
        results: the folder that it goes into, beside its store.
        data: where the suite lies now; None where it lay then.
        warn: is told of trouble with a store.

    Raises:
        UsageError: they ask different things, a process is at work on one of them, or batches are under way.
    """
    with ExitStack() as stack:
        for run in dict.fromkeys(runs):
            stack.enter_context(run.claim())
            in_batches(run)  # the merged run would ask that as well
        parts = [_Part(run, run.record(), reopen(run, data)) for run in dict.fromkeys(runs)]
        evaluation = _whole(parts, results)
        directory = run_directory(evaluation)
        if directory.path.resolve() not in [part.directory.path.resolve() for part in parts]:
            directory.prepare()
            stack.enter_context(directory.claim())
        earlier = directory.read()
        directory.check_same(earlier, evaluation.identity(), instead="other --results")
        store = stack.enter_context(open_store(directory, warn))
        for part in parts:
            with _replies(part, store, warn) as find:
                _take(part.evaluation, find, store)
        scores = write_results(evaluation, in_store(store), directory)
        ledger, merged = _ledger(earlier, parts, directory)
        total = scores.total
        directory.write(
            {
                **parts[0].record,
                "state": "incomplete" if total.incomplete else "complete",
                "stopped": None,
                "identity": evaluation.identity(),
                "settings": evaluation.settings.to_json(),
                "data": str(evaluation.whole.path.resolve()),
                **stamp(),
                "counts": {
                    "total": evaluation.total,
                    "stored": total.asked - total.owed,
                    "answered": 0,
                    "failed": total.outcomes[Outcome.FAILED],
                    "dropped_shots": sum(part.record["counts"].get("dropped_shots", 0) for part in parts),
                },
                "ledger": ledger.to_json(),
                "merged": merged,
                "fresh_since": None,
                "hashes": directory.hashes(),
            }
        )
    price = price_of(evaluation.settings, evaluation.profile, evaluation.model)
    return RunResult(directory.path, scores, ledger, price)


def _whole(parts: Sequence[_Part], results: Path) -> Evaluation:
    """The undivided evaluation, after a look whether all parts belong to it."""
    first = parts[0]
    settings = replace(first.evaluation.settings, shard=WHOLE, results=str(results), fresh=False)
    asked = first.evaluation
    whole = make_evaluation(settings, asked.whole, asked.profile, asked.model, asked.address)
    for part in parts:
        identity = {name: value for name, value in part.record["identity"].items() if name != "shard"}
        changed = differences(whole.identity(), identity) or differences(
            {name: first.record[name] for name in ("adapted", "sent")},
            {name: part.record[name] for name in ("adapted", "sent")},
        )
        if changed:
            raise UsageError(
                f"{part.directory.path} is no part of the same run as {first.directory.path}: "
                f"{'; '.join(changed)}; merge runs that differ in their --shard only"
            )
    return whole.as_begun(first.record)


@contextmanager
def _replies(part: _Part, store: ReplyStore, warn: Callable[[str], None]) -> Iterator[Find]:
    """Where the replies of a part are: often in the new run's store already."""
    if part.directory.store.resolve() == store.path.resolve():
        yield in_store(store)
        return
    with stored_replies(part.directory, warn) as find:
        yield find


def _take(evaluation: Evaluation, find: Find, store: ReplyStore) -> None:
    """Copy the replies of a part, and why others failed; of two to one request the later one counts."""
    for task in evaluation.suite.tasks:
        for item in evaluation.items(task):
            found = find(item.request.key)
            if isinstance(found, Reply):
                known = store.get(item.request.key)
                if known is None or found.received_at > known.received_at:
                    store.put(item.request, found, replace=known is not None)
            elif isinstance(found, Failure) and store.get_failure(item.request.key) is None:
                store.put_failure(item.request, found)


def _ledger(
    earlier: dict[str, Any] | None, parts: Sequence[_Part], directory: RunDir
) -> tuple[Ledger, dict[str, Any]]:
    """What asking took in all, and what of it came from which part, so that merging twice counts once."""
    ledger = Ledger.from_json(earlier["ledger"]) if earlier else Ledger()
    merged = dict(earlier.get("merged") or {}) if earlier else {}
    for part in parts:
        if (path := str(part.directory.path.resolve())) == str(directory.path.resolve()):
            continue
        now = part.record["ledger"]
        ledger += Ledger.from_json(now)
        if path in merged:
            ledger -= Ledger.from_json(merged[path])
        merged[path] = now
    return ledger, merged
