"""Which HTTP client the hot path uses: httpx over aiohttp, or aiohttp itself. The figures decide.

    pip install httpx-aiohttp
    python -m bench.clients compare

The whole tool runs with either behind the same method of its `Transport`. httpx would stay
if no more than half of the processor time of a question were spent inside it.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.measure import Bench, Row, show
from bench.run import FEW, MANY, repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Cost

_CLIENTS = ("aiohttp", "httpx")
#: Of the second look, as in `bench.run span`.
_LATENCY, _CONCURRENCY = 0.2, 500


@click.group()
def main() -> None:
    """Compare HTTP clients in the tool's hot path."""


@main.command()
@repeats(5)
@click.option("--concurrency", default=256, show_default=True)
def compare(*, repeats: int, concurrency: int) -> None:
    """Processor time a question with either client, and the share of it inside httpx."""
    try:
        import httpx_aiohttp  # noqa: F401 - needed by the processes that are measured
    except ImportError:
        raise click.ClickException(
            "httpx-aiohttp is missing; it is no dependency: pip install httpx-aiohttp"
        ) from None
    cpu: dict[str, list[float]] = {client: [] for client in _CLIENTS}
    spans: dict[str, list[float]] = {client: [] for client in _CLIENTS}
    inside, above = [], []
    with Bench() as bench:
        suites = bench.suite(FEW), bench.suite(MANY)
        for _ in range(repeats):
            for client in _CLIENTS:
                bench.server.begin()
                few, many = (_run(bench, suite, client, concurrency).cpu for suite in suites)
                cpu[client].append((many - few) / (MANY - FEW) * 1000)
                bench.server.begin(latency=_LATENCY)
                _run(bench, suites[1], client, _CONCURRENCY)
                spans[client].append(bench.server.counters().span)
            bench.server.begin()
            profiles = [bench.fresh_folder() / "profile" for _ in suites]
            for suite, profile in zip(suites, profiles, strict=True):
                _run(bench, suite, "httpx", concurrency, profile)
            few_times, many_times = map(_times, profiles)
            whole, httpx, aiohttp = (many - few for few, many in zip(few_times, many_times, strict=True))
            inside.append(httpx / whole)
            above.append((httpx - aiohttp) / whole)
    ratios = [one / other for one, other in zip(cpu["httpx"], cpu["aiohttp"], strict=True)]
    show(
        f"The whole tool by HTTP client: CPU of a question, zero latency, concurrency {concurrency}",
        [
            Row("aiohttp", cpu["aiohttp"], "{:.3f} ms"),
            Row("httpx over aiohttp", cpu["httpx"], "{:.3f} ms"),
            Row("httpx over aiohttp / aiohttp", ratios, "{:.2f}"),
            Row("share inside httpx, aiohttp beneath it included (profile)", inside, "{:.0%}"),
            Row("share inside httpx without aiohttp (profile)", above, "{:.0%}"),
            *(
                Row(f"span at {_CONCURRENCY}, {_LATENCY:g} s: {name}", spans[name], "{:.2f} s")
                for name in _CLIENTS
            ),
        ],
    )


def _run(bench: Bench, suite: Path, client: str, concurrency: int, profile: Path | None = None) -> Cost:
    entry = ("-m", "bench.clients", "ask", client, str(profile or ""))
    return bench.m3ke(suite, "--concurrency", str(concurrency), entry=entry)


@main.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("client", type=click.Choice(_CLIENTS))
@click.argument("profile")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def ask(client: str, profile: str, arguments: tuple[str, ...]) -> None:
    """The `m3ke` command with a client of choice; writes a profile where PROFILE is not empty."""
    from m3ke_async import cli, connect

    if client == "httpx":
        connect.Transport = _httpx_transport()  # type: ignore[attr-defined]
    if not profile:
        cli.main(list(arguments))
    profiler = cProfile.Profile(time.process_time)  # no time of waiting
    try:
        profiler.runcall(cli.main, list(arguments))
    finally:
        profiler.dump_stats(profile)


def _httpx_transport() -> type[Any]:
    import httpx
    from httpx_aiohttp import AiohttpTransport

    from m3ke_async.wire.transport import Response, Transport

    class HttpxTransport(Transport):
        """The same pool and session, asked through httpx."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._client = httpx.AsyncClient(transport=AiohttpTransport(client=self._kept), timeout=None)  # noqa: S113 - the engine has the deadline

        async def _request(
            self, session: object, method: str, url: str, body: bytes | None, sending: object = None
        ) -> Response:
            response = await self._client.request(method, url, content=body)
            return Response(response.status_code, dict(response.headers), response.content)

    return HttpxTransport


def _times(profile: Path) -> tuple[float, float, float]:
    """Seconds of the whole process, inside httpx, and inside aiohttp where httpx called it."""
    functions: dict[tuple[str, int, str], Any] = pstats.Stats(str(profile)).stats  # type: ignore[attr-defined]

    def total(column: int, wanted: Callable[[str, str], bool]) -> float:
        return float(sum(row[column] for (file, _, name), row in functions.items() if wanted(file, name)))

    own, cumulative = 2, 3
    return (
        total(own, lambda file, name: True),
        total(cumulative, lambda file, name: _is(file, "httpx", "_client.py") and name == "request"),
        total(cumulative, lambda file, name: _is(file, "aiohttp", "client.py") and name == "__aenter__"),
    )


def _is(file: str, package: str, module: str) -> bool:
    return Path(file).parts[-2:] == (package, module)


if __name__ == "__main__":
    sys.exit(main())
