"""One evaluation: its directory, its life, its result.

    settings -> evaluation (what is asked) -> engine (replies into the store)
             -> results (answers, scores, predictions), written from the store alone

The same settings mean the same directory, and running again asks only what is owed.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import orjson

from m3ke_async.address import Address, parse_address
from m3ke_async.choice import RULES_VERSION
from m3ke_async.errors import ExitCode, IncompleteError, M3keError, StoppedError, UsageError
from m3ke_async.evaluation import Evaluation, make_evaluation
from m3ke_async.key import load_key
from m3ke_async.manifest import load_manifest
from m3ke_async.places import default_suite_path
from m3ke_async.progress import Silent
from m3ke_async.providers import Hosting, Profile, load_profile, parse_model
from m3ke_async.results import choose, write_results
from m3ke_async.rundir import RunDir, checked_name, differences, run_name
from m3ke_async.score import Scores
from m3ke_async.settings import RunOptions, RunSettings, make_settings
from m3ke_async.store import ReplyStore
from m3ke_async.suite import Suite, load_suite, sample_suite_path
from m3ke_async.tally import Ledger, Price, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from m3ke_async.backlog import Ask
    from m3ke_async.engine import Engine
    from m3ke_async.models import LocalModel
    from m3ke_async.progress import Display
    from m3ke_async.request import Reply
    from m3ke_async.serve import LocalServer
    from m3ke_async.suite import Split, Task

#: Seconds of one attempt where none are set, at a hosted API and at a server of one's own.
HOSTED_TIMEOUT, OWN_TIMEOUT = 120.0, 600.0

#: Stored replies that are passed before others may run.
_PASS = 64


class InterruptedRunError(IncompleteError):
    """The user stopped the run; the same command goes on.

    Attributes:
        at_once: whether the user asked twice, and does not wait for result files either.
    """

    exit_code = ExitCode.INTERRUPTED
    at_once = False


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

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return ExitCode.INCOMPLETE if self.scores.total.incomplete else ExitCode.COMPLETE


async def evaluate(
    model: str, suite: Suite | str | Path | None = None, **options: Unpack[RunOptions]
) -> RunResult:
    """Evaluate a model, or continue; for scripts and notebooks.

    Args:
        model: `provider/model`.
        suite: a loaded suite, a path, or `sample`; the fetched M3KE where it is None.
        options: as of `m3ke run`, with underscores; see RunSettings.

    Raises:
        UsageError: settings that cannot work; nothing was sent.
        StoppedError: the provider stopped the run: key, money, model. What was answered is kept.
    """
    if suite is not None and not isinstance(suite, Suite):
        options["data"], suite = str(suite), None
    result = await run(make_settings(model, options), suite=suite)
    if isinstance(result.stopped, StoppedError):
        raise result.stopped
    return result


def evaluate_sync(
    model: str, suite: Suite | str | Path | None = None, **options: Unpack[RunOptions]
) -> RunResult:
    """`evaluate` for code that is not asynchronous; it works inside a running loop, too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(evaluate(model, suite, **options))
    return _in_a_thread(evaluate(model, suite, **options))


def _in_a_thread(evaluation: Coroutine[Any, Any, RunResult]) -> RunResult:
    """Run it in a loop of its own, since a notebook's loop is running in this thread; Ctrl-C ends it."""
    from concurrent.futures import Future, ThreadPoolExecutor

    cancel: Future[Callable[[], object]] = Future()

    async def main() -> RunResult:
        task = asyncio.ensure_future(evaluation)
        cancel.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="m3ke") as pool:
        result = pool.submit(asyncio.run, main())
        try:
            return result.result()
        except KeyboardInterrupt:
            cancel.result()()
            raise


@dataclass(frozen=True, slots=True)
class Target:
    """Who is asked: everything about the model but the questions.

    Attributes:
        profile: of the provider.
        model: its name there.
        key: the API key; it stands nowhere else.
        addresses: of the endpoints; empty for a model that is served for the run.
        local: the model to be served.
    """

    profile: Profile
    model: str
    key: str | None
    addresses: tuple[Address, ...]
    local: LocalModel | None = None

    @property
    def identity(self) -> str:
        """What stands for the address in the requests' identity."""
        if self.local is not None:
            from m3ke_async.serve import identity

            return identity(self.local.name, self.local.sha256)
        return self.addresses[0].public

    def timeout(self, settings: RunSettings) -> float:
        """Seconds of one attempt. A server of one's own may keep a request waiting in its queue."""
        if settings.timeout is not None:
            return settings.timeout
        return HOSTED_TIMEOUT if self.profile.hosting is Hosting.HOSTED else OWN_TIMEOUT


def find_target(
    settings: RunSettings,
    display: Display,
    environ: Mapping[str, str] = os.environ,
    *,
    sends: bool = True,
) -> Target:
    """Who is asked; a local model is downloaded where it is not here yet.

    Args:
        settings: of the run.
        display: where to say how a download goes.
        environ: holds the key.
        sends: whether requests will be sent, which may need a key.

    Raises:
        UsageError: no such provider, no address, or no key where one is needed.
    """
    name, model = parse_model(settings.model)
    profile = load_profile(name)
    if settings.api_key_env:
        profile = replace(profile, key_env=(settings.api_key_env,))
    if profile.hosting is Hosting.EMBEDDED:
        from m3ke_async.downloading import shown
        from m3ke_async.models import resolve_model

        with shown(display) as progress:
            local = resolve_model(model, progress, say=display.say)
        return Target(profile, local.name, None, (), local)
    urls = settings.base_url or ((profile.base_url,) if profile.base_url else ())
    if not urls:
        raise UsageError(f"{name} has no address of its own: give --base-url, such as http://host:8000/v1")
    addresses = tuple(parse_address(url, profile.chat_path) for url in urls)
    key = _key(settings, profile, environ) if sends else None
    if key and profile.key_header == "Authorization" and any(address.credentials for address in addresses):
        raise UsageError(
            f"the address {addresses[0].public} comes with a user or password, and there is a key as well: "
            "both go into one header, so give one of them"
        )
    return Target(profile, model, key, addresses)


def _key(settings: RunSettings, profile: Profile, environ: Mapping[str, str]) -> str | None:
    for name in profile.key_env:
        if key := environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise UsageError(f"the key in {name} holds characters that no key has; copy it again")
            return key
    if settings.api_key_env:
        raise UsageError(
            f"the environment variable {settings.api_key_env} is not set, and --api-key-env names it"
        )
    if profile.key_required:
        raise UsageError(
            f"no key for {profile.title}: set {' or '.join(profile.key_env)} in the environment, "
            "or name another variable by --api-key-env"
        )
    return None


def find_suite(data: str | None) -> Suite:
    """The suite that `--data` means.

    Raises:
        UsageError: none was given and none was fetched.
    """
    if data == "sample":
        return load_suite(sample_suite_path())
    path = Path(data) if data is not None else default_suite_path()
    if path is None:
        raise UsageError(
            "no data: get M3KE by `m3ke data fetch`, give a folder or zip by --data, or try --data sample"
        )
    return load_suite(path)


def price_of(settings: RunSettings, profile: Profile, model: str) -> Price | None:
    """What tokens cost: as the user says, else as the provider's file knows."""
    if settings.price is not None:
        return settings.price
    known = next((price for price in profile.prices if price.model == model), None)
    return Price(known.input, known.output) if known else None


async def run(
    settings: RunSettings,
    *,
    suite: Suite | None = None,
    display: Display | None = None,
    environ: Mapping[str, str] = os.environ,
    signals: bool = False,
) -> RunResult:
    """Ask what is owed, and write the results.

    Args:
        settings: of the run.
        suite: in place of `settings.data`.
        display: where to say what happens.
        environ: holds the key.
        signals: whether Ctrl-C and SIGTERM drain the run; for the command, which owns the process.

    Raises:
        UsageError: settings that cannot work; nothing was sent.
    """
    display = display or Silent()
    suite = suite or find_suite(settings.data)
    target = find_target(settings, display, environ)
    evaluation = make_evaluation(settings, suite, target.profile, target.model, target.identity)
    directory = _directory(evaluation)
    earlier = directory.read()
    _check_same(directory, earlier, evaluation)
    price = price_of(settings, target.profile, target.model)
    if settings.max_cost is not None and price is None:
        raise UsageError(
            f"--max-cost needs a price, and none is known for {settings.model}: give --price IN,OUT, "
            "in money per million tokens, or limit tokens by --max-tokens-total"
        )
    if (finished := _finished(directory, earlier, settings, price)) is not None:
        display.say(f"nothing to ask: {directory.path} is complete")
        return finished
    directory.prepare()
    _say_unlabelled(evaluation, display)
    tally = Tally(total=evaluation.total)
    before = Ledger.from_json(earlier["ledger"]) if earlier else Ledger()
    session = _Session(directory, evaluation, target, display, tally, before)
    with ReplyStore(
        directory.store, spare=directory.spare_store, run=directory.path.name, warn=display.warn
    ) as store:
        session.record("running")
        stopped: M3keError | None = None
        try:
            await _ask(session, store, price=price, signals=signals)
        except UsageError:
            raise
        except InterruptedRunError as error:
            if error.at_once:
                raise
            stopped = error
        except M3keError as error:
            stopped = error
        scores = write_results(evaluation, store, directory)
    if isinstance(stopped, IncompleteError) and not scores.total.incomplete:
        stopped = None  # what was in flight at the limit was all that was left
    session.record("stopped" if stopped else "incomplete" if scores.total.incomplete else "complete", stopped)
    return RunResult(directory.path, scores, before + tally.ledger, price, stopped)


def reopen(directory: RunDir, data: str | None) -> Evaluation:
    """What a run on disk asked, for work that sends nothing.

    Args:
        directory: of the run.
        data: where the suite lies now; None where it lay then.

    Raises:
        UsageError: the suite or the template is not what it was.
    """
    record = directory.read()
    if record is None:
        raise UsageError(f"{directory.path} holds no run.json; give the folder of a run")
    stored = {
        name: value
        for name, value in record["settings"].items()
        if value not in (None, []) and name != "model"
    }
    settings = make_settings(record["settings"]["model"], stored)
    evaluation = make_evaluation(
        settings,
        load_suite(data if data is not None else record["data"]),
        load_profile(record["provider"]),
        record["model"],
        record["identity"]["address"],
    )
    changed = differences(record["identity"], evaluation.identity())
    if changed:
        raise UsageError(
            f"{directory.path} was made of something else: {'; '.join(changed)}; give the right --data"
        )
    return evaluation


def rescore(
    directory: RunDir, *, data: str | None, key: str | None, warn: Callable[[str], None]
) -> RunResult:
    """Extract and score again, offline.

    Args:
        directory: of the run.
        data: as of `reopen`.
        key: path of an answer key.
        warn: is told of trouble with the store.
    """
    evaluation = reopen(directory, data)
    record = directory.read() or {}
    letters = load_key(key, evaluation.suite, evaluation.settings.split) if key is not None else None
    if directory.store.exists():
        with ReplyStore(directory.store, spare=directory.spare_store, warn=warn) as store:
            scores = write_results(evaluation, store, directory, key=letters)
    else:
        scores = write_results(evaluation, None, directory, key=letters)
    directory.write({**record, "rules": RULES_VERSION, "answers_bytes": _size(directory.answers)})
    price = price_of(evaluation.settings, evaluation.profile, evaluation.model)
    return RunResult(directory.path, scores, Ledger.from_json(record["ledger"]), price)


def _directory(evaluation: Evaluation) -> RunDir:
    settings = evaluation.settings
    name = (
        checked_name(settings.name)
        if settings.name is not None
        else run_name(
            evaluation.identity(),
            provider=evaluation.profile.name,
            model=evaluation.model,
            split=settings.split,
            shots=settings.shots,
        )
    )
    return RunDir(Path(settings.results).expanduser() / name)


def _check_same(directory: RunDir, earlier: Mapping[str, Any] | None, evaluation: Evaluation) -> None:
    """A folder holds one run: other settings under the same name are refused."""
    changed = differences(earlier["identity"], evaluation.identity()) if earlier else []
    if changed:
        raise UsageError(
            f"{directory.path} holds a run with other settings ({'; '.join(changed)}); choose another --name"
        )


def _finished(
    directory: RunDir, earlier: Mapping[str, Any] | None, settings: RunSettings, price: Price | None
) -> RunResult | None:
    """The result of a run that is complete and untouched; None where there is work to do."""
    if earlier is None or earlier["state"] != "complete" or earlier["rules"] != RULES_VERSION:
        return None
    if settings.fresh or settings.retry_filtered or earlier["answers_bytes"] != _size(directory.answers):
        return None
    try:
        scores = Scores.from_json(orjson.loads(directory.scores.read_bytes()), file=directory.scores)
    except (OSError, orjson.JSONDecodeError, UsageError):
        return None  # it is written again from the store
    return RunResult(directory.path, scores, Ledger.from_json(earlier["ledger"]), price)


def _own_version() -> str | None:
    try:
        return version("m3ke-async")
    except PackageNotFoundError:
        return None  # it runs from a folder, without installation


def _is_published(suite: Suite, split: Split) -> bool:
    """Whether all tasks are M3KE's own, so that the published tables may stand beside the run."""
    published = {task.name: task.sha256 for task in load_manifest().tasks}
    return all(task.sha256.get(split) == published.get(task.name, {}).get(split) for task in suite.tasks)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _say_unlabelled(evaluation: Evaluation, display: Display) -> None:
    """Before anything is paid: a split without answers has no accuracy."""
    split = evaluation.settings.split
    if not evaluation.suite.labelled(split):
        display.say(
            f"the {split} split has no public answers: this run writes predictions and has no accuracy; "
            "an answer key can be scored later by m3ke score RUN --key FILE"
        )


@dataclass(frozen=True, slots=True)
class _Session:
    """One command at work on a run."""

    directory: RunDir
    evaluation: Evaluation
    target: Target
    display: Display
    tally: Tally
    before: Ledger

    def record(self, state: str, stopped: M3keError | None = None) -> None:
        """Write run.json as things are now."""
        evaluation, tally = self.evaluation, self.tally
        self.directory.write(
            {
                "state": state,
                "stopped": str(stopped) if stopped else None,
                "identity": evaluation.identity(),
                "settings": evaluation.settings.to_json(),
                "provider": evaluation.profile.name,
                "model": evaluation.model,
                "data": str(evaluation.whole.path.resolve()),
                "is_m3ke": _is_published(evaluation.suite, evaluation.settings.split),
                "rules": RULES_VERSION,
                "versions": {"m3ke-async": _own_version(), "python": sys.version.split()[0]},
                "counts": {
                    "total": tally.total,
                    "stored": tally.stored,
                    "answered": tally.answered,
                    "failed": tally.failed,
                },
                "ledger": (self.before + tally.ledger).to_json(),
                "answers_bytes": _size(self.directory.answers),
                "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
        )


async def _ask(session: _Session, store: ReplyStore, *, price: Price | None, signals: bool) -> None:
    """Ask everything that is owed."""
    # Only a run that sends needs the HTTP client and its 0.2 s of import.
    from m3ke_async.backlog import Backlog
    from m3ke_async.connect import connect, preflight
    from m3ke_async.engine import Engine, EngineSettings
    from m3ke_async.lanes import Lanes
    from m3ke_async.retry import RetryPolicy

    evaluation, target, tally, display = session.evaluation, session.target, session.tally, session.display
    settings = evaluation.settings
    rng = random.Random()  # noqa: S311 - spreads requests, guards nothing
    since = time.time()
    async with AsyncExitStack() as stack:
        endpoints, server = await connect(
            settings, target, log=session.directory.path / "server.log", rng=rng, stack=stack
        )
        listed = await preflight(endpoints, target, display)
        engine = Engine(
            backlog=Backlog(
                Lanes(
                    (_owed(evaluation, task, store, tally, since) for task in evaluation.suite.tasks),
                    lead=settings.shots > 0,
                )
            ),
            endpoints=endpoints,
            store=store,
            retry=RetryPolicy(max_attempts=settings.max_attempts, rng=rng),
            profile=target.profile,
            settings=EngineSettings(
                timeout=target.timeout(settings),
                max_tokens=settings.max_tokens,
                budget=settings.budget,
                price=price,
                replace=settings.fresh or settings.retry_filtered,
                probe=not listed,
                secret=target.key,
            ),
            tally=tally,
            on_reply=_ignore if isinstance(display, Silent) else partial(_count, tally),
            warn=display.warn,
        )
        if server is not None:
            watch = asyncio.create_task(_stop_with(server, engine))
            stack.callback(watch.cancel)
        with _signals(engine, display, tally) if signals else nullcontext():
            async with display.watch(tally, lambda: engine.next_try):
                await engine.run()


async def _stop_with(server: LocalServer, engine: Engine) -> None:
    """Stop the run when its server ends by itself."""
    engine.stop(await server.ended())


def _ignore(ask: Ask, reply: Reply) -> None:
    """Nobody looks at the outcomes before the results are written."""


def _count(tally: Tally, ask: Ask, reply: Reply) -> None:
    tally.outcomes[choose(ask.question, reply).outcome] += 1


def _owed(
    evaluation: Evaluation, task: Task, store: ReplyStore, tally: Tally, since: float
) -> Iterator[Ask | None]:
    """The questions of a task that have no reply yet."""
    from m3ke_async.backlog import Ask

    settings = evaluation.settings
    passed = 0
    for item in evaluation.items(task):
        request = item.request
        reply = store.get(request.key)
        again = reply is not None and (
            (settings.fresh and reply.received_at < since) or (settings.retry_filtered and reply.filtered)
        )
        if reply is not None and not again:
            tally.stored += 1
        elif settings.retry_failed and store.get_failure(request.key) is None:
            tally.total -= 1
        else:
            yield Ask(request, item.question)
            continue
        passed += 1
        if passed % _PASS == 0:
            yield None


@contextmanager
def _signals(engine: Engine, display: Display, tally: Tally) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM drains; the second leaves at once."""
    loop = asyncio.get_running_loop()
    reason = InterruptedRunError("interrupted; every reply is kept, and the same command goes on")
    seen = 0

    def on_signal() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            display.warn(
                f"stopping: waiting for {tally.in_flight} requests in flight (once more to leave at once); "
                "every reply is kept"
            )
            engine.stop(reason)
        else:
            reason.at_once = True
            engine.abort()

    watched = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in watched:
            loop.add_signal_handler(number, on_signal)
    except NotImplementedError:  # Windows: handlers run in the main thread between bytecodes
        old = {
            number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
            for number in watched
        }
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
        return
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
