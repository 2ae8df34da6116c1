"""One evaluation: its directory, its life, its result.

    settings -> evaluation (what is asked) -> engine (replies into the store)
             -> results (answers, scores, predictions), written from the store alone

The same settings mean the same directory, and running again asks only what is owed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.batch.state import Batches, under_way
from m3ke_async.errors import (
    ExitCode,
    IncompleteError,
    InterruptedRunError,
    M3keError,
    UsageError,
)
from m3ke_async.lookup import find_evaluation, find_price, find_suite, run_directory
from m3ke_async.manner import ThinkingMode
from m3ke_async.owed import count_stale, fresh_since, left_to_others
from m3ke_async.progress import Silent
from m3ke_async.providers import parse_model
from m3ke_async.record import is_finished, recording, write_record
from m3ke_async.replies import in_store, open_store
from m3ke_async.results import write_results
from m3ke_async.rundir import RunDir
from m3ke_async.score import Scores
from m3ke_async.session import Session, ask
from m3ke_async.suite import Split
from m3ke_async.tally import Ledger, Tally
from m3ke_async.target import find_target
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path
    from typing import Protocol

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.suite import Suite
    from m3ke_async.tally import Price
    from m3ke_async.target import Target

    class Asking(Protocol):
        """Asks what a run owes."""

        def __call__(
            self, session: Session, store: ReplyStore, *, price: Price | None, signals: bool
        ) -> Awaitable[None]:
            """Ask it."""


#: Fewer tokens than this seldom hold thoughts and an answer.
_TOKENS_OF_THOUGHT = 1024


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        path: the run's folder.
        scores: every number of the reports.
        ledger: what asking took, over all commands of this run.
        price: of tokens, where known.
        stopped: why questions are left; None when all were asked.
    """

    path: Path
    scores: Scores
    ledger: Ledger
    price: Price | None = None
    stopped: M3keError | None = None

    def frame(self) -> Any:
        """The answers, a row a question, as a `polars.DataFrame`, or a `pandas.DataFrame` without polars.

        Raises:
            UsageError: neither is installed, or answers.jsonl was damaged since.
        """
        from m3ke_async.frame import answers_frame

        return answers_frame(RunDir(self.path).answers, self.scores)

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return ExitCode.INCOMPLETE if self.scores.total.incomplete else ExitCode.COMPLETE


async def run(
    settings: RunSettings,
    *,
    suite: Suite | None = None,
    display: Display | None = None,
    environ: Mapping[str, str] = os.environ,
    signals: bool = False,
    asking: Asking | None = None,
    sends: bool = True,
) -> RunResult:
    """Ask what is owed, and write the results.

    Args:
        settings: of the run.
        suite: in place of `settings.data`.
        display: where to say what happens.
        environ: holds the key.
        signals: whether Ctrl-C and SIGTERM drain the run; for the command, which owns the process.
        asking: how what is owed is asked; as the settings say where it is None.
        sends: whether requests are sent, which may need a key.

    Raises:
        UsageError: settings that cannot work; nothing was sent.
    """
    display = display or Silent()
    parse_model(settings.model)  # a misspelt provider is told before anything is read
    suite = suite or find_suite(settings.data, settings.suite)
    target = find_target(settings, display, environ, sends=sends)
    settings = replace(settings, timeout=target.timeout(settings))
    evaluation = find_evaluation(settings, suite, target)
    directory = run_directory(evaluation)
    earlier = directory.read()
    directory.check_same(earlier, evaluation.identity(), instead="another --name")
    evaluation = evaluation.as_begun(earlier)
    price = find_price(settings, target)
    if (finished := _finished(directory, earlier, settings, price)) is not None:
        display.say(f"nothing to ask: {directory.path} is complete")
        return finished
    asked = _asking(settings, target)
    asking = asking or asked
    directory.prepare()
    _announce(evaluation, display)
    tally = Tally(total=evaluation.total, known=_known(directory, earlier, settings))
    with directory.claim(), open_store(directory, display.warn) as store:
        earlier = directory.read()  # once more: the process that had the claim may just have ended
        elsewhere = in_batches(directory) if asking is ask else {}
        since = fresh_since(settings, earlier)
        session = Session(directory, evaluation, target, display, tally, earlier, since, elsewhere)
        if (left := left_to_others(session, store)) is not None:
            display.say(left)
        write_record(session, "running")
        stopped: M3keError | None = None
        try:
            async with recording(session):
                await asking(session, store, price=price, signals=signals)
        except M3keError as error:
            if isinstance(error, UsageError) and not tally.ledger.requests:
                raise
            stopped = error
        finally:
            with suppress(OSError):  # else a full disk hides why the run stopped
                write_record(session, "stopped")  # whatever comes, what asking took is known
        if isinstance(stopped, InterruptedRunError) and stopped.at_once:
            raise stopped
        scores = _write(session, store, stopped)
        stopped, state = _ended(session, store, scores, stopped, sends=sends)
        write_record(session, state, stopped, hashes=directory.hashes())  # while the claim says that it runs
    return RunResult(directory.path, scores, session.before + tally.ledger, price, stopped)


def _asking(settings: RunSettings, target: Target) -> Asking:
    """How the settings want to ask.

    Raises:
        UsageError: by batches, and that cannot be done.
    """
    if not settings.batch:
        return ask
    from m3ke_async.batch.asking import ask_in_batches, check_batch

    check_batch(target, settings)
    return ask_in_batches


def in_batches(directory: RunDir) -> dict[bytes, Path]:
    """What batches of other runs may still answer, by `under_way`: to ask it as well would be to pay twice.

    Raises:
        UsageError: there are such batches of this run.
    """
    questions = sum(part.requests for part in Batches.read(directory).open)
    if questions:
        raise UsageError(
            f"{counted(questions, 'question of this run is', 'questions of this run are')} in batches that "
            f"are under way: take the replies by m3ke batch collect {directory.quoted}, "
            f"or m3ke batch cancel {directory.quoted} first"
        )
    return under_way(directory.path.parent)


def _write(session: Session, store: ReplyStore, stopped: M3keError | None) -> Scores:
    """Write the results; where that fails the replies are in the store all the same."""
    try:
        return write_results(session.evaluation, in_store(store), session.directory)
    except OSError as error:
        why = stopped or f"the results cannot be written to {session.directory.path}: {error.strerror}"
        kept = "its store was taken away as well" if store.is_gone else "stored replies are kept"
        raise IncompleteError(f"{why}; {kept}, and the same command goes on") from error
    except UsageError as error:  # a suite that was changed meanwhile
        raise IncompleteError(f"{error}; every reply is kept") from error


def _ended(
    session: Session, store: ReplyStore, scores: Scores, stopped: M3keError | None, *, sends: bool
) -> tuple[M3keError | None, str]:
    """Why questions are left, if they are, and the state of the run.

    Where older replies stand in the store, none is lacking though newer ones are to come.
    """
    incomplete = scores.total.incomplete or bool(Batches.read(session.directory).open)
    stale = 0 if incomplete else count_stale(session, store)
    incomplete = incomplete or stale > 0
    if isinstance(stopped, IncompleteError) and session.tally.done >= session.tally.total and not incomplete:
        stopped = None  # what was in flight at the limit was all that was left
    if stopped is None and stale and sends:
        stopped = IncompleteError(
            f"{counted(stale, 'question')} could not be asked anew and kept "
            "the reply from before; run again with --fresh to ask them"
        )
    if stopped is None and incomplete and (left := left_to_others(session, store)) is not None:
        stopped = IncompleteError(left)
    return stopped, "stopped" if stopped else "incomplete" if incomplete else "complete"


def _finished(
    directory: RunDir, earlier: Mapping[str, Any] | None, settings: RunSettings, price: Price | None
) -> RunResult | None:
    """The result of a run that is complete and untouched; None where there is work to do."""
    if earlier is None or settings.fresh or settings.retry_filtered:
        return None
    if not is_finished(directory, earlier, settings.policy):
        return None
    try:
        scores = Scores.from_json(orjson.loads(directory.scores.read_bytes()), file=directory.scores)
    except (OSError, orjson.JSONDecodeError, UsageError):
        return None  # it is written again from the store
    if scores.total.incomplete:
        return None
    return RunResult(directory.path, scores, Ledger.from_json(earlier["ledger"]), price)


def _known(directory: RunDir, earlier: Mapping[str, Any] | None, settings: RunSettings) -> int:
    """Questions whose reply is there, by the count of the command before; 0 where it does not hold now."""
    if earlier is None or settings.fresh or settings.retry_filtered or not directory.store.exists():
        return 0
    counts = earlier["counts"]
    return int(counts.get("stored", 0) + counts.get("answered", 0))


def _announce(evaluation: Evaluation, display: Display) -> None:
    """Before anything is paid: the settings, and what should be known of them."""
    settings = evaluation.settings
    for line in settings.lines():
        display.say(line)
    if settings.thinking is ThinkingMode.ON and settings.max_tokens < _TOKENS_OF_THOUGHT:
        display.warn(
            f"thoughts count as tokens, and with --max-tokens {settings.max_tokens} few replies may reach an "
            f"answer: give {_TOKENS_OF_THOUGHT} or more"
        )
    for change in evaluation.changes:
        title = evaluation.profile.title
        display.say(f"{title} takes another request than the settings ask for: {change.says}")
    if left_out := sum(map(len, evaluation.left_out.values())):
        them = counted(
            left_out, "question that is in both splits is", "questions that are in both splits are"
        )
        display.say(f"{them} left out; m3ke data check lists such questions")
    taxonomy, here = evaluation.whole.layout.taxonomy, len(evaluation.whole.tasks)
    if here < (taxonomy.tasks or 0):
        display.warn(f"{evaluation.whole.path} holds {here} of {taxonomy.title}'s {taxonomy.tasks} subjects")
    if not evaluation.suite.labelled(settings.split):
        writes = "writes predictions and" if settings.split is Split.TEST else "writes answers.jsonl and"
        display.say(
            f"the {settings.split} split has no public answers: this run {writes} has no "
            "accuracy; an answer key can be scored later by m3ke score RUN --key FILE"
        )
    if evaluation.whole.layout.takes_submission(settings.split):
        display.say(f"submission.json will hold the letters as {taxonomy.title}'s authors take them")
