"""A comparison of runs in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.comparison import Verdict
from m3ke_async.report.grid import chance, percent, points, print_grid, ranged, say
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from m3ke_async.comparison import Agreement, Comparison, Pair, Paired

#: Questions that are listed; `--json` has all.
_DISPUTED = 20


def render(comparison: Comparison, console: Console) -> None:
    """Print the whole comparison."""
    if comparison.unlike:
        say(console, f"NOT THE SAME: {', '.join(comparison.unlike)}; compared by --force", style="bold red")
    for number, (name, model) in enumerate(comparison.runs, 1):
        say(console, f"Run {number}: {name}, {model}")
    for note in comparison.notes:
        say(console, f"Mind: {note}", style="yellow")
    for pair in comparison.pairs:
        say(console, "")
        for line in _sentences(pair):
            say(console, line)
        _groups(console, pair)
        if pair.total is None:
            _tasks(console, pair)
    if comparison.fleiss_n:
        say(console, "")
        say(
            console,
            f"All {len(comparison.runs)} runs: Fleiss' kappa {_kappa(comparison.fleiss)}"
            f" over {counted(comparison.fleiss_n, 'question')} that all answered",
        )
    _disputed(console, comparison)


def _sentences(pair: Pair) -> Iterator[str]:
    first, second = f"run {pair.first}", f"run {pair.second}"
    if pair.total is not None:
        yield from _verdict(pair.total, first, second)
    more = counted(pair.left_out, "more is", "more are")
    left = f"; {more} missing or failed in one of them" if pair.left_out else ""
    found = pair.agreement
    if found.n:
        yield (
            f"Runs {pair.first} and {pair.second} choose the same letter in {percent(found.share)}"
            f" of {counted(found.n, 'question')}, 95 % {ranged(found.interval)}; "
            f"Cohen's kappa {_kappa(found.kappa)}"
        )
    shared = counted(pair.shared, "question has", "questions have")
    yield f"{shared} a reply in both, {found.without:,} of them no letter in one{left}"


def _verdict(total: Paired, first: str, second: str) -> Iterator[str]:
    one, other = map(percent, total.accuracies)
    apart = f"{100 * abs(total.difference):.1f} points"
    test = f"exact McNemar p {chance(total.p_adjusted)}"
    if total.p_adjusted != total.p:
        test += f" by Holm (alone {chance(total.p)})"
    match total.verdict:
        case Verdict.NONE:
            yield f"No difference seen between {first} ({one}) and {second} ({other}): {apart}, {test}"
        case Verdict.FIRST:
            yield f"{first.capitalize()} is better than {second}: {one} to {other}, {apart}, {test}"
        case Verdict.SECOND:
            yield f"{second.capitalize()} is better than {first}: {other} to {one}, {apart}, {test}"
    if total.interval is not None:
        yield f"{second.capitalize()} less {first}, 95 % by bootstrap: {_signed(total.interval)} points"
    yield (
        f"{counted(total.n, 'labelled question')}: both right {total.both:,}, only {first} "
        f"{total.first_only:,}, only {second} {total.second_only:,}, neither {total.neither:,}"
    )
    if total.least is None:
        yield "So few questions cannot show any difference"
    else:
        yield f"A difference of {100 * total.least:.1f} points would have been seen four times in five"


def _groups(console: Console, pair: Pair) -> None:
    headings = (f"run {pair.first}", f"run {pair.second}", "diff.", "interval", "p (Holm)", "better")
    for title, groups in (("By cluster, in %", pair.clusters), ("By level, in %", pair.levels)):
        if groups:
            rows = [_group_row(group, pair) for group in groups]
            print_grid(console, title, ("", "n", *headings), rows)


def _group_row(group: Paired, pair: Pair) -> tuple[str, ...]:
    better = {Verdict.FIRST: f"run {pair.first}", Verdict.SECOND: f"run {pair.second}", Verdict.NONE: "-"}
    return (
        group.name,
        f"{group.n:,}",
        *map(points, group.accuracies),
        f"{100 * group.difference:+.1f}",
        "-" if group.interval is None else _signed(group.interval),
        chance(group.p_adjusted).removeprefix("= "),
        better[group.verdict],
    )


def _tasks(console: Console, pair: Pair) -> None:
    rows = [_task_row(task) for task in pair.tasks]
    print_grid(console, "Agreement by task, in %", ("", "n", "same", "interval", "kappa", "no letter"), rows)


def _task_row(task: Agreement) -> tuple[str, ...]:
    shown = (
        f"{task.n:,}",
        points(task.share),
        ranged(task.interval),
        _kappa(task.kappa),
        f"{task.without:,}",
    )
    return (task.name, *shown)


def _disputed(console: Console, comparison: Comparison) -> None:
    found = comparison.disputed
    if not found:
        return
    shown = found[:_DISPUTED]
    key = any(question.key for question in shown)
    runs = [f"run {number}" for number in range(1, len(comparison.runs) + 1)]
    title = f"{len(found):,} disputed questions"
    if len(found) > len(shown):
        title += f", the first {len(shown)} (--json has all)"
    rows = [
        (
            f"{question.task} {question.id}",
            *_letters(question.choices),
            *([question.key or "-"] if key else []),
        )
        for question in shown
    ]
    print_grid(console, title, ("", *runs, *(["right"] if key else [])), rows)


def _letters(choices: Iterable[str | None]) -> list[str]:
    return [letter or "-" for letter in choices]


def _kappa(kappa: float | None) -> str:
    return "-" if kappa is None else f"{kappa:.2f}"


def _signed(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"
