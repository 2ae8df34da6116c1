"""The live part of a run: connects, asks what is owed, and lets go again."""

from __future__ import annotations

import asyncio
import random
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from m3ke_async.adaptation import REFUSALS, StartOverError, find_change
from m3ke_async.error_body import read_body
from m3ke_async.errors import IncompleteError, M3keError
from m3ke_async.interrupt import signals_stop
from m3ke_async.manner import ThinkingMode
from m3ke_async.owed import owed, owes
from m3ke_async.proof import NO_QUESTION, RefusedError, prove
from m3ke_async.recent import Recent
from m3ke_async.results import choose
from m3ke_async.scrub import scrub_all
from m3ke_async.tally import Ledger, Tally
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from m3ke_async.backlog import Ask
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.engine import Engine, EngineSettings
    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display
    from m3ke_async.request import ChatRequest, Reply
    from m3ke_async.retry import RetryPolicy
    from m3ke_async.rules import Kind
    from m3ke_async.rundir import RunDir
    from m3ke_async.serving.child import Server
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price
    from m3ke_async.target import Target

    Sharing: TypeAlias = "Callable[[Target, tuple[Endpoint, ...]], AbstractAsyncContextManager[None]]"

#: Seconds that the first question goes alone at least where nobody said how many may go: a quick reply to it
#: may name a limit.
_ALONE = 0.05


@dataclass(slots=True, eq=False)
class Session:
    """One command at work on a run.

    Attributes:
        directory: of the run.
        evaluation: what is asked; another one once a refusal has shown what the model takes.
        target: who is asked.
        display: where to say what happens.
        tally: counts of this command.
        earlier: run.json as the command before left it; None for the first.
        since: Unix time in seconds; with `--fresh`, older replies do not count.
        elsewhere: requests that are in batches under way, and are left to them: the folder of the batches'
            run by the request's key.
        thinks: whether thoughts came that were switched off.
        record: writes what asking took until now, for whoever counts much at once.
    """

    directory: RunDir
    evaluation: Evaluation
    target: Target
    display: Display
    tally: Tally
    earlier: Mapping[str, Any] | None
    since: float
    elsewhere: Mapping[bytes, Path] = field(default_factory=dict)
    thinks: bool = False
    record: Callable[[], None] = lambda: None

    def refusal(self, kind: Kind, sent: bytes, body: bytes) -> StartOverError | None:
        """How the run goes on after a refused request; None where it cannot."""
        error = read_body(body, success=False)
        change = find_change(kind, error, sent, self.evaluation.changes)
        if change is None:
            return None
        words = one_line(scrub_all(error.message, self.target.secrets), limit=160)
        title = self.target.profile.title
        return StartOverError(change, f"{title} refuses the request ({words}): in this run {change.says}")

    def refusal_of_proof(self, kind: Kind, sent: bytes, body: bytes) -> M3keError | None:
        """The same where the request asks for what the server may not know."""
        refusal = self.refusal(kind, sent, body)
        if refusal is None and kind in REFUSALS:
            words = scrub_all(read_body(body, success=False).message, self.target.secrets)
            return RefusedError(one_line(words, limit=100))
        return refusal

    @property
    def before(self) -> Ledger:
        """What earlier commands took."""
        return Ledger.from_json(self.earlier["ledger"]) if self.earlier else Ledger()

    def start_over(self, refusal: StartOverError) -> None:
        """Go on with what the model takes; nothing was answered yet."""
        changes = (*self.evaluation.changes, refusal.change)
        self.evaluation = replace(self.evaluation, changes=changes)
        self.tally.start_over(self.evaluation.total)
        self.display.warn(str(refusal))

    @property
    def was_complete(self) -> bool:
        """Whether an earlier command asked everything."""
        return self.earlier is not None and self.earlier["state"] == "complete"


def _alone(target: Target, endpoints: tuple[Endpoint, ...]) -> AbstractAsyncContextManager[None]:
    """Nobody else uses the limits of these endpoints."""
    return nullcontext()


def _all_here(evaluation: Evaluation) -> None:
    """The store holds every reply that there is."""


async def ask(
    session: Session,
    store: ReplyStore,
    *,
    price: Price | None,
    signals: bool,
    sharing: Sharing = _alone,
    bring: Callable[[Evaluation], None] = _all_here,
) -> None:
    """Ask everything that is owed.

    Args:
        session: the command.
        store: where replies go.
        price: of tokens, where known.
        signals: whether Ctrl-C and SIGTERM drain the run.
        sharing: keeps the limits of the endpoints shared with others, as long as it is entered.
        bring: puts into the store what is known elsewhere of the requests that are about to be asked.
    """
    # Only a run that sends needs the HTTP client and its 0.2 s of import.
    from m3ke_async.connect import connect
    from m3ke_async.ending import ending_line, today
    from m3ke_async.engine import EngineSettings
    from m3ke_async.preflight import preflight
    from m3ke_async.retry import RetryPolicy

    target, tally, display = session.target, session.tally, session.display
    settings = session.evaluation.settings
    bring(session.evaluation)
    if session.was_complete or target.hosted is not None:  # a server takes long to load
        seen = Tally(total=tally.total)
        if not owes(session, store, seen):
            tally.total, tally.stored, tally.dropped_shots = seen.total, seen.stored, seen.dropped_shots
            return
    rng = random.Random()  # noqa: S311 - spreads requests, guards nothing
    async with AsyncExitStack() as stack:
        endpoints, server = await connect(
            session.evaluation,
            target,
            display,
            log=session.directory.path / "server.log",
            rng=rng,
            stack=stack,
        )
        await stack.enter_async_context(sharing(target, endpoints))
        look = await preflight(endpoints, target, display)
        if look.ending is not None:
            display.warn(ending_line(target.profile, look.ending, today()))
        least = _ALONE if settings.concurrency is None else 0.0
        engine_settings = EngineSettings(
            timeout=target.timeout(settings),
            max_tokens=settings.max_tokens,
            budget=settings.budget,
            price=price,
            replace=settings.fresh or settings.retry_filtered,
            alone=None if look.alone is None else max(look.alone, least),
            protocol=target.protocol,
            adapt=session.refusal,
            secrets=target.secrets,
        )
        asking = _Asking(
            session=session,
            store=store,
            endpoints=endpoints,
            server=server,
            settings=engine_settings,
            recent=Recent(lambda ask, reply: choose(ask.question, reply, settings).outcome),
            retry=RetryPolicy(max_attempts=settings.max_attempts, rng=rng),
            signals=signals,
        )
        while True:
            try:
                evaluation = await prove(session.evaluation, endpoints, asking.send)
                if evaluation is not session.evaluation:
                    session.evaluation = evaluation
                    bring(evaluation)
                if evaluation.constraint is not None:
                    display.say(f"replies are held to one letter, as was proven, by {evaluation.constraint}")
                await asking.ask_all()
            except StartOverError as refusal:
                session.start_over(refusal)
                bring(session.evaluation)
            else:
                return


@dataclass(frozen=True, slots=True)
class _Asking:
    """Engines over the same endpoints, one after the other."""

    session: Session
    store: ReplyStore
    endpoints: tuple[Endpoint, ...]
    server: Server | None
    settings: EngineSettings
    recent: Recent
    retry: RetryPolicy
    signals: bool

    async def ask_all(self) -> None:
        """Ask the questions of the run."""
        session = self.session
        evaluation, tally = session.evaluation, session.tally
        asks = (owed(session, task, self.store, tally, claim=True) for task in evaluation.suite.tasks)
        lead = evaluation.settings.shots > 0
        told = self._with_thoughts if evaluation.settings.thinking is ThinkingMode.OFF else self.recent.add
        await self._run(asks, self.endpoints, self.settings, tally, told, lead=lead)

    def _with_thoughts(self, ask: Ask, reply: Reply) -> None:
        """Tell of thoughts that come although they were switched off: once."""
        session = self.session
        if (reply.reasoning or reply.usage.reasoning_tokens) and not session.thinks:
            session.thinks = True
            session.display.warn(
                "the model thinks although --thinking off was sent: the server may not know the switch "
                "of the provider's file"
            )
        self.recent.add(ask, reply)

    async def send(self, endpoint: Endpoint, request: ChatRequest) -> Reply:
        """Ask one endpoint something that is no question of the run.

        Raises:
            RefusedError: it does not take the request.
            IncompleteError: it does not answer now.
        """
        from m3ke_async.backlog import Ask

        session = self.session
        replies: list[Reply] = []
        settings = replace(self.settings, replace=True, alone=None, adapt=session.refusal_of_proof)
        tally = Tally(total=1)
        asks = [iter([Ask(request, NO_QUESTION)])]
        try:
            await self._run(asks, (endpoint,), settings, tally, lambda ask, reply: replies.append(reply))
        finally:
            session.tally.ledger += tally.ledger
        if not replies:
            failure = self.store.get_failure(request.key)
            raise IncompleteError(f"{failure.message if failure else 'no reply'}; run again to go on")
        return replies[0]

    async def _run(
        self,
        asks: Iterable[Iterator[Ask | None]],
        endpoints: tuple[Endpoint, ...],
        settings: EngineSettings,
        tally: Tally,
        on_reply: Callable[[Ask, Reply], None],
        *,
        lead: bool = False,
    ) -> None:
        """Let an engine ask, as long as its local server lives and nobody interrupts it."""
        from m3ke_async.backlog import Backlog
        from m3ke_async.course import Means
        from m3ke_async.engine import Engine
        from m3ke_async.lanes import Lanes

        display, target = self.session.display, self.session.target
        engine = Engine(
            Means(
                backlog=Backlog(Lanes(asks, lead=lead)),
                endpoints=endpoints,
                store=self.store,
                retry=self.retry,
                profile=target.profile,
                settings=settings,
                tally=tally,
                on_reply=on_reply,
                warn=display.warn,
            )
        )
        with ExitStack() as stack:
            if self.server is not None:
                watch = asyncio.create_task(_stop_with(self.server, engine))
                stack.callback(watch.cancel)
            if self.signals:
                stack.enter_context(signals_stop(engine, display, tally))
            async with display.watch(tally, self.recent.outcomes, lambda: engine.next_try):
                await engine.run()


async def _stop_with(server: Server, engine: Engine) -> None:
    """Stop the run when its server ends by itself."""
    engine.stop(await server.ended())
