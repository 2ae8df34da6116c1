"""One command for each promise about speed: `python -m bench.run NAME` prints its table.

Every figure is taken beside its reference, in turns, so that what else the machine does
at the time meets both.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import click

from bench.measure import Bench, Row, measure, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bench.measure import Cost

#: As many questions as M3KE's test split has.
WHOLE = 20_122
#: Questions of most measurements, and those of one that is nothing but its start.
MANY, FEW = 2000, 20


@click.group()
def main() -> None:
    """Measure the tool; each command prints a table."""


def repeats(default: int) -> Callable[[Any], Any]:
    """How often a figure is taken; the median counts."""
    return click.option("--repeats", default=default, show_default=True, help="The median of so many.")


@main.command()
@repeats(5)
@click.option("--concurrency", default=256, show_default=True)
def cpu(*, repeats: int, concurrency: int) -> None:
    """Processor time a question after the start, at zero latency."""
    names = ("m3ke run", "m3ke run --quiet", "bare aiohttp loop", "AsyncOpenAI and gather")
    found: dict[str, list[float]] = {name: [] for name in names}
    with Bench() as bench:
        few, many = bench.suite(FEW), bench.suite(MANY)
        number = str(concurrency)
        clients: dict[str, Callable[[Path], Cost]] = {
            names[0]: lambda suite: bench.m3ke(suite, "--concurrency", number),
            names[1]: lambda suite: bench.m3ke(suite, "--concurrency", number, "--quiet"),
            names[2]: lambda suite: bench.ceiling(suite, concurrency),
            names[3]: lambda suite: bench.naive(suite, concurrency),
        }
        for _ in range(repeats):
            for name, client in clients.items():
                bench.server.begin()
                start, whole = client(few), client(many)
                assert bench.server.counters().answered == FEW + MANY
                found[name].append((whole.cpu - start.cpu) / (MANY - FEW) * 1000)
    show(
        f"CPU a question: that of {MANY:,} less that of {FEW}, by {MANY - FEW:,}; concurrency {concurrency}",
        _beside(found, "{:.3f} ms", must=1.0, hoped=0.5),
    )


@main.command()
@repeats(5)
@click.option("--concurrency", default=500, show_default=True)
@click.option("--latency", default=0.2, show_default=True, help="Seconds.")
def span(*, repeats: int, concurrency: int, latency: float) -> None:
    """Time from the first request to the last answer, beside the bare loop's."""
    tool: list[float] = []
    bare: list[float] = []
    with Bench() as bench:
        suite = bench.suite(MANY)
        for _ in range(repeats):
            bench.server.begin(latency=latency)
            bench.m3ke(suite, "--concurrency", str(concurrency))
            tool.append(bench.server.counters().span)
            bench.server.begin(latency=latency)
            bench.ceiling(suite, concurrency)
            bare.append(bench.server.counters().span)
    show(
        f"Span of {MANY:,} requests, {latency * 1000:.0f} ms latency, concurrency {concurrency}",
        [
            Row("m3ke run / bare aiohttp loop", _ratios(tool, bare), "{:.2f}", must=1.5, hoped=1.2),
            Row("m3ke run", tool, "{:.2f} s"),
            Row("bare aiohttp loop", bare, "{:.2f} s"),
        ],
    )


@main.command()
@repeats(9)
def start(*, repeats: int) -> None:
    """`m3ke run` of 20 questions, from its start to its exit."""
    with Bench() as bench:
        suite = bench.suite(FEW)
        clients: dict[str, Callable[[], Cost]] = {
            "m3ke run": lambda: bench.m3ke(suite),
            "bare aiohttp loop": lambda: bench.ceiling(suite, FEW),
            "AsyncOpenAI and gather": lambda: bench.naive(suite, FEW),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in clients}
        bench.server.begin()
        for _ in range(repeats):
            for name, client in clients.items():
                costs[name].append(client())
    walls = {name: [cost.wall for cost in found] for name, found in costs.items()}
    rows = _beside(walls, "{:.2f} s", must=1.0, hoped=0.6)
    rows += [Row(f"{name}: CPU", [cost.cpu for cost in found], "{:.2f} s") for name, found in costs.items()]
    show(f"{FEW} questions, start to exit, zero latency", rows)


@main.command()
@repeats(1)
@click.option("--rpm", default=6000, show_default=True)
@click.option("--latency", default=0.05, show_default=True, help="Seconds.")
def rate(*, repeats: int, rpm: int, latency: float) -> None:
    """Share of an enforced rate of requests that is used, and refusals."""
    rows = []
    with Bench() as bench:
        suite = bench.suite(MANY)
        for given in (True, False):
            for counting in (False, True):
                used, refused = [], []
                for _ in range(repeats):
                    bench.server.begin(latency=latency, rpm=rpm, refusals_count=counting)
                    bench.m3ke(suite, *(("--rpm", str(rpm)) if given else ()))
                    seen = bench.server.counters()
                    assert seen.answered == MANY
                    used.append(seen.requests_used or 0.0)
                    refused.append(seen.refused / seen.requests)
                what = f"{'--rpm given' if given else 'found'}{', refusals count' if counting else ''}: "
                rows.append(Row(what + "rate used", used, "{:.1%}", must=0.97, hoped=0.99, at_least=True))
                rows.append(Row(what + "share of 429s", refused, "{:.2%}", must=0.003, hoped=0.0))
    show(f"{rpm:,} requests a minute enforced, {MANY:,} questions, {latency * 1000:.0f} ms latency", rows)


@main.command()
@repeats(1)
@click.option("--tpm", default=500_000, show_default=True)
@click.option("--latency", default=0.05, show_default=True, help="Seconds.")
def tokens(*, repeats: int, tpm: int, latency: float) -> None:
    """Share of an enforced rate of tokens that is used, where usage is unlike the first estimate."""
    rows = []
    with Bench() as bench:
        suite = bench.suite(MANY)
        for given in (True, False):
            for density in (0.5, 2.0):
                used, refused = [], []
                for _ in range(repeats):
                    bench.server.begin(latency=latency, tpm=tpm, tokens_per_char=density)
                    bench.m3ke(suite, *(("--tpm", str(tpm)) if given else ()))
                    seen = bench.server.counters()
                    assert seen.answered == MANY
                    used.append(seen.tokens_used or 0.0)
                    refused.append(seen.refused / seen.requests)
                what = f"{'--tpm given' if given else 'found'}, {density:g} tokens a character: "
                rows.append(Row(what + "rate used", used, "{:.1%}", must=0.95, hoped=0.98, at_least=True))
                rows.append(Row(what + "share of 429s", refused, "{:.2%}", must=0.003, hoped=0.0))
    show(
        f"{tpm:,} tokens a minute enforced, {MANY:,} questions, estimated at 1 token a character at first",
        rows,
    )


@main.command()
@repeats(3)
@click.option("--latency", default=0.2, show_default=True, help="Seconds.")
@click.option("--slots", default=(64, 300), multiple=True, show_default=True, help="Repeat for several.")
def auto(*, repeats: int, latency: float, slots: tuple[int, ...]) -> None:
    """Throughput of `--concurrency auto` beside numbers set by hand."""
    rows = []
    with Bench() as bench:
        suite = bench.suite(MANY)
        for number in slots:
            by_hand = [number // 2, number, number * 3 // 2, number * 2]
            found: dict[str, list[float]] = {str(name): [] for name in ("auto", *by_hand)}
            for _ in range(repeats):
                for name, values in found.items():
                    bench.server.begin(latency=latency, slots=number)
                    bench.m3ke(suite, "--concurrency", name)
                    values.append(MANY / bench.server.counters().span)
            best = max(by_hand, key=lambda name: statistics.median(found[str(name)]))
            ratios = _ratios(found["auto"], found[str(best)])
            what = f"{number} slots, auto / best by hand ({best})"
            rows.append(Row(what, ratios, "{:.1%}", must=0.9, hoped=0.97, at_least=True))
            rows += [Row(f"{number} slots, {name}", values, "{:.0f}/s") for name, values in found.items()]
    show(f"Throughput of {MANY:,} questions, {latency * 1000:.0f} ms a request, by what is in flight", rows)


@main.command()
@repeats(1)
@click.option(
    "--questions", default=WHOLE, show_default=True, help="1000000 takes half an hour and 2 GB of disk."
)
def memory(*, repeats: int, questions: int) -> None:
    """Peak memory of a whole run."""
    costs = []
    with Bench() as bench:
        suite = bench.suite(questions)
        for _ in range(repeats):
            bench.server.begin()
            costs.append(bench.m3ke(suite, "--concurrency", "256"))
            assert bench.server.counters().answered == questions
    must, hoped = (120.0, 80.0) if questions <= WHOLE else (400.0, 80.0)
    show(
        f"{questions:,} questions, zero latency, concurrency 256",
        [
            Row("peak memory", [cost.peak for cost in costs], "{:.0f} MiB", must=must, hoped=hoped),
            Row("CPU", [cost.cpu for cost in costs], "{:.1f} s"),
            Row("wall", [cost.wall for cost in costs], "{:.1f} s"),
        ],
    )


@main.command()
@repeats(5)
@click.option("--questions", default=WHOLE, show_default=True)
def again(*, repeats: int, questions: int) -> None:
    """The same command after everything is answered."""
    with Bench() as bench:
        suite, results = bench.suite(questions), bench.fresh_folder()
        bench.server.begin()
        bench.m3ke(suite, results=results)
        bench.server.begin()
        costs = [bench.m3ke(suite, results=results) for _ in range(repeats)]
        sent = bench.server.counters().requests
    show(
        f"A finished run of {questions:,} questions once more",
        [
            Row("wall", [cost.wall for cost in costs], "{:.2f} s", must=1.5, hoped=1.0),
            Row("requests", [sent], "{:.0f}", must=0, hoped=0),
            Row("CPU", [cost.cpu for cost in costs], "{:.2f} s"),
        ],
    )


@main.command()
@repeats(3)
@click.option("--concurrency", default="100", show_default=True, help="A number, or auto.")
@click.option("--latency", default=0.2, show_default=True, help="Seconds.")
@click.option("--share", default=0.05, show_default=True, help="Of attempts that meet each kind of fault.")
def faults(*, repeats: int, concurrency: str, latency: float, share: float) -> None:
    """429s, 500s, resets, malformed and slow bodies: what is lost, bought twice, how much longer it takes."""
    kinds = ("429", "500", "reset", "malformed", "slow")
    clean, faulty, missing, twice = [], [], [], []
    with Bench() as bench:
        suite = bench.suite(MANY)
        for seed in range(repeats):
            bench.server.begin(latency=latency)
            clean.append(bench.m3ke(suite, "--concurrency", concurrency).wall)
            bench.server.begin(latency=latency, seed=seed, faults=dict.fromkeys(kinds, share))
            faulty.append(bench.m3ke(suite, "--concurrency", concurrency).wall)
            seen = bench.server.counters()
            missing.append(MANY - seen.answered)
            twice.append(seen.duplicates)
    show(
        f"{share:.0%} each of {', '.join(kinds)}; {MANY:,} questions, {latency * 1000:.0f} ms, "
        f"concurrency {concurrency}",
        [
            Row("wall / wall without faults", _ratios(faulty, clean), "{:.2f}", must=2.0, hoped=1.4),
            Row("questions without an answer", missing, "{:.0f}", must=0, hoped=0),
            Row("answers bought twice", twice, "{:.0f}", must=0, hoped=0),
            Row("wall with faults", faulty, "{:.2f} s"),
            Row("wall without", clean, "{:.2f} s"),
        ],
    )


@main.command()
@repeats(3)
@click.option("--questions", default=WHOLE, show_default=True)
@click.option("--shots", default=0, show_default=True)
def report(*, repeats: int, questions: int, shots: int) -> None:
    """report.html of a whole run in headless Chromium: its size, the first paint, filters and searches."""
    from tests.browser import chromium

    painted: list[float] = []
    filtered: list[float] = []
    with Bench() as bench, chromium() as browser:
        results = bench.fresh_folder()
        bench.server.begin()
        bench.m3ke(bench.suite(questions), "--quiet", "--shots", str(shots), "--name", "run", results=results)
        page_file = results / "run" / "report.html"
        command = ("-m", "m3ke_async", "report", str(results / "run"))
        written = [measure(*command) for _ in range(repeats)]
        size = page_file.stat().st_size
        for _ in range(repeats):
            page = browser.new_page()
            page.goto(page_file.as_uri())
            page.locator(".row").first.wait_for()
            painted.append(page.evaluate(_FIRST_PAINT))
            filtered += page.evaluate(_SEARCHES)
            page.close()
    show(
        f"report.html of {questions:,} questions, {shots}-shot",
        [
            Row("size", [size / 1e6], "{:.1f} MB", must=25),
            Row("first paint", painted, "{:.0f} ms", must=1000),
            Row("slowest search", [max(filtered)], "{:.0f} ms", must=100),
            Row("m3ke report", [cost.wall for cost in written], "{:.2f} s"),
        ],
    )


_FIRST_PAINT = "performance.getEntriesByName('first-paint')[0].startTime"
#: Milliseconds of each search, from the key to the finished layout.
_SEARCHES = """() => ["的", "牛顿", "nowhere", "答案", ""].map((words) => {
    const search = document.querySelector("input[type=search]");
    const start = performance.now();
    search.value = words;
    search.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - start;
})"""


def _beside(found: Mapping[str, Sequence[float]], form: str, *, must: float, hoped: float) -> list[Row]:
    """A row a client; the bounds are the tool's."""
    return [
        Row(name, values, form, *((must, hoped) if name.startswith("m3ke") else ()))
        for name, values in found.items()
    ]


def _ratios(ours: list[float], theirs: list[float]) -> list[float]:
    return [one / other for one, other in zip(ours, theirs, strict=True)]


if __name__ == "__main__":
    main()
