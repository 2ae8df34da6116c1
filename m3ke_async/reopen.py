"""A run on disk once more: its questions as they were, and its results anew, offline."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.address import parse_address
from m3ke_async.answer import read_answers
from m3ke_async.choice import RULES_VERSION
from m3ke_async.errors import DataError, UsageError
from m3ke_async.evaluation import make_evaluation
from m3ke_async.key import load_key
from m3ke_async.profile import Hosting, Profile
from m3ke_async.providers import load_profile
from m3ke_async.replies import in_store_or_answers, open_store
from m3ke_async.results import make_answers, write_results
from m3ke_async.run import RunResult
from m3ke_async.rundir import differences, find_run
from m3ke_async.score import Scores
from m3ke_async.settings_checks import make_settings
from m3ke_async.store import StoreError
from m3ke_async.suite import load_suite
from m3ke_async.tally import Ledger
from m3ke_async.target import price_of
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.evaluation import Evaluation
    from m3ke_async.replies import Find
    from m3ke_async.rundir import RunDir
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore


def reopen(directory: RunDir, data: str | None, policy: str | None = None) -> Evaluation:
    """What a run on disk asked, for work that sends nothing.

    Args:
        directory: of the run.
        data: where the suite lies now; None where it lay then.
        policy: how letters are found now; None as they were found then.

    Raises:
        UsageError: the suite or the template is not what it was.
    """
    record = directory.record()
    settings = _settings(directory, record, {} if policy is None else {"policy": policy})
    evaluation = make_evaluation(
        settings,
        load_suite(data if data is not None else record["data"], settings.suite),
        _profile(record),
        record["model"],
        record["identity"]["address"],
    )
    changed = differences(record["identity"], evaluation.identity())
    if changed:
        raise UsageError(
            f"{directory.path} was made of something else: {'; '.join(changed)}; give the right --data"
        )
    return evaluation.as_begun(record)


def _profile(record: Mapping[str, Any]) -> Profile:
    """The provider as the run had it; a file of one's own need not be there any more."""
    name = record["provider"]
    try:
        profile = load_profile(name)
    except UsageError:
        profile = Profile(name, name, Hosting.SELF_HOSTED)
    return profile.as_sent(record["sent"])


def _settings(
    directory: RunDir, record: Mapping[str, Any], changes: Mapping[str, Any] | None = None
) -> RunSettings:
    """The settings that stand in run.json, with changes where they are given."""
    stored = {
        name: value
        for name, value in record["settings"].items()
        if value not in (None, []) and name != "model"
    }
    model = record["settings"]["model"]
    try:
        as_they_were = make_settings(model, stored)
    except UsageError as error:
        raise DataError(f"{error}; run the same command again", file=directory.run_json) from None
    return make_settings(model, {**stored, **changes}) if changes else as_they_were


#: Options that were meant for one command, and not for those that go on with its run.
_OF_A_COMMAND = (
    *("retry_failed", "retry_filtered"),
    *("max_cost", "max_requests", "max_tokens_total", "max_time"),
)


def settings_again(directory: RunDir, changes: Mapping[str, Any]) -> RunSettings:
    """The settings of a run on disk for another command that goes on with it, in the folder where it lies.

    Args:
        directory: of the run.
        changes: options that are otherwise now; `base_url` gives the run's own address, with its key.

    Raises:
        UsageError: run.json is damaged, an option is wrong, or the address is another one.
    """
    record = directory.record()
    began_at = record["settings"]["base_url"]
    if any(parse_address(url).public not in began_at for url in changes.get("base_url", ())):
        there = " and ".join(began_at) or "its provider's own address"
        raise UsageError(
            f"{directory.path} has begun at {there}, and --base-url is another address: "
            "give that one, with its key, or leave it out"
        )
    place = {"results": str(directory.path.parent), "data": record["data"]}
    dropped = dict.fromkeys(_OF_A_COMMAND)
    if record["state"] == "complete":
        dropped["fresh"] = None  # it was asked afresh
    settings = _settings(directory, record, {**dropped, **place, **changes})
    return replace(settings, name=directory.path.name.removesuffix(settings.shard.suffix))


def read_run(run: str | Path, results: str | Path = "results") -> RunResult:
    """The result of a run on disk, as its files say; nothing is computed again.

    Args:
        run: path of its folder, or its name.
        results: where the name is looked up.

    Raises:
        UsageError: there is no such run, or its files are damaged or of another version.
    """
    directory = find_run(str(run), str(results))
    record, scores = directory.record(), read_scores(directory)
    price = price_of(_settings(directory, record), _profile(record), record["model"])
    return RunResult(directory.path, scores, Ledger.from_json(record["ledger"]), price)


def read_scores(directory: RunDir) -> Scores:
    """The content of scores.json.

    Raises:
        UsageError: it is not there, damaged or of another version.
    """
    try:
        return Scores.from_json(orjson.loads(directory.scores.read_bytes()), file=directory.scores)
    except (FileNotFoundError, orjson.JSONDecodeError):
        raise DataError(
            "is not there or damaged; write it with: m3ke score RUN", file=directory.scores
        ) from None


def rescore(
    directory: RunDir,
    *,
    data: str | None = None,
    policy: str | None = None,
    key: str | None = None,
    warn: Callable[[str], None],
) -> RunResult:
    """Extract and score again, offline.

    Args:
        directory: of the run.
        data: as of `reopen`.
        policy: as of `reopen`.
        key: path of an answer key.
        warn: is told how much the key covers, and of trouble with the store.

    Raises:
        UsageError: as of `reopen`, or a process is at work on the run.
    """
    evaluation = reopen(directory, data, policy)
    letters = None
    if key is not None:
        split = evaluation.settings.split
        letters = load_key(key, evaluation.suite, split)
        size = counted(evaluation.suite.size(split), f"{split} question")
        warn(f"{key} answers {len(letters):,} of {size} in the run's tasks")
    with directory.claim(), stored_replies(directory, warn, keep=True) as find:
        record = directory.record()
        scores = write_results(evaluation, find, directory, key=letters)
        state = "incomplete" if record["state"] == "complete" and scores.total.incomplete else record["state"]
        changed = {
            "state": state,
            "settings": {**record["settings"], "policy": evaluation.settings.policy},
            "rules": RULES_VERSION,
            "hashes": directory.hashes(),
        }
        directory.write({**record, **changed})
    price = price_of(evaluation.settings, evaluation.profile, evaluation.model)
    return RunResult(directory.path, scores, Ledger.from_json(record["ledger"]), price)


@dataclass(frozen=True, slots=True)
class ChangedChoice:
    """A question that is read otherwise now; `before` is None where answers.jsonl has no line for it."""

    before: Answer | None
    after: Answer

    def line(self) -> str:
        """For people."""
        was = _shown(self.before) if self.before is not None else "not in answers.jsonl"
        asks = {"rotation": self.after.rotation, "sample": self.after.sample}
        ask = "".join(f", {name} {number}" for name, number in asks.items() if number is not None)
        return f"{self.after.task} {self.after.id}{ask}: {was} -> {_shown(self.after)}"

    def to_json(self) -> dict[str, Any]:
        """For `--json`: lines as in answers.jsonl."""
        return {"before": self.before and self.before.to_json(), "after": self.after.to_json()}


def changed_choices(
    directory: RunDir, *, data: str | None, policy: str | None, warn: Callable[[str], None]
) -> Iterator[ChangedChoice]:
    """What scoring again would change, question by question; nothing is written.

    Args:
        directory: of the run.
        data: as of `reopen`.
        policy: as of `reopen`.
        warn: is told of trouble with the store, and of damaged lines.
    """
    evaluation = reopen(directory, data, policy)
    damaged: list[str] = []
    before = {_place(answer): answer for answer in read_answers(directory.answers, damaged.append)}
    for line in damaged:
        warn(line)
    with stored_replies(directory, warn, told=bool(damaged)) as find:
        for after in make_answers(evaluation, find):
            earlier = before.get(_place(after))
            if earlier is None or (earlier.choice, earlier.outcome) != (after.choice, after.outcome):
                yield ChangedChoice(earlier, after)


def sum_up(changed: Sequence[ChangedChoice]) -> str:
    """What the changes come to, and what writes them, in one line for people."""
    if not changed:
        return "no reply would be read otherwise"
    pairs = [(change.before and change.before.choice, change.after.choice) for change in changed]
    gained = sum(not was and bool(now) for was, now in pairs)
    lost = sum(bool(was) and not now for was, now in pairs)
    moved = sum(bool(was and now) and was != now for was, now in pairs)
    replies = counted(len(changed), "reply", "replies")
    return (
        f"{replies} would be read otherwise: {gained:,} gain a letter, {lost:,} lose theirs, "
        f"{moved:,} get another; nothing is written, the same command without --diff writes it"
    )


def _place(answer: Answer) -> tuple[object, ...]:
    return answer.task, answer.id, answer.rotation, answer.sample


def _shown(answer: Answer) -> str:
    found = answer.choice or str(answer.outcome)
    return f"{found} ({answer.rule})" if answer.rule else found


@contextmanager
def stored_replies(
    directory: RunDir, warn: Callable[[str], None], *, keep: bool = False, told: bool = False
) -> Iterator[Find]:
    """Where the replies of a run are found, whatever has become of its store.

    Args:
        directory: of the run.
        warn: is told of trouble with the store, and with answers.jsonl where that is needed.
        keep: as of `in_store_or_answers`.
        told: as of `in_store_or_answers`.
    """
    with ExitStack() as stack:
        store: ReplyStore | None = None
        if directory.store.exists():
            try:
                store = stack.enter_context(open_store(directory, warn, only_read=True))
            except (StoreError, UsageError) as error:
                warn(f"{error}; the replies in {directory.answers} are used")
        yield in_store_or_answers(store, directory, warn, keep=keep, told=told)
