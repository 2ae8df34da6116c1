"""What a report says in sentences: what was found, and what should be known before it is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3ke_async.report.grid import chance, number, percent, ranged
from m3ke_async.request import Outcome
from m3ke_async.suite import Split
from m3ke_async.suites.taxonomy import Mean
from m3ke_async.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.diagnostics import Diagnostics, Served
    from m3ke_async.repeats import Repeats
    from m3ke_async.score import Scores
    from m3ke_async.statistics import Average, Counts, GroupScore

#: Four options.
_CHANCE = 0.25
#: In a handful of answers one letter leads by chance.
_ENOUGH_LETTERS = 20
_MANY_TRUNCATED = 0.05
#: More than this on no letter, as a mean, is worth a warning.
_MOST_OUTSIDE = 0.5
#: Below this half width of the interval, in points, the number of questions needs no remark.
_WIDE = 1.5


def unusual_reading(record: Mapping[str, Any]) -> str:
    """What was taken for an answer and how letters were found, where not as usual; behind a run's name."""
    usual = {"answer": "text", "policy": "careful"}
    found = {name: record["settings"].get(name, value) for name, value in usual.items()}
    return "".join(f", --{name} {value}" for name, value in found.items() if value != usual[name])


def summary_lines(scores: Scores, *, shots: int = 0) -> list[str]:
    """What there is to say without tables, one sentence a line, in plain ASCII but for names."""
    return facts(scores) + remarks(scores, shots)


def facts(scores: Scores) -> list[str]:
    """What was found, a sentence a line."""
    total, usage = scores.total, scores.usage
    lines = _accuracy(scores)
    rest = "".join(f", {n:,} {name}" for name, n in without_letter(total).items() if n)
    lines.append(f"Questions: {total.asked:,} asked; {total.answered:,} answered{rest}")
    if total.answered:
        shares = (f"{letter} {n:,} ({100 * n / total.answered:.0f} %)" for letter, n in total.letters.items())
        lines.append(f"Letters: {', '.join(shares)}")
    if total.evenness is not None:
        found, p = total.evenness.chi_square, chance(total.evenness.p)
        lines.append(f"Against a quarter each: chi-square {found:.1f} on 3 degrees of freedom, p {p}")
    lines += _lengths(scores.diagnostics)
    lines += _repeated(scores.repeats)
    if scores.diagnostics is not None and scores.diagnostics.outside is not None:
        lines.append(f"Probability on no letter where answers begin: {percent(scores.diagnostics.outside)}")
    if usage.prompt_tokens is not None or usage.completion_tokens is not None:
        cached = "" if usage.cached_share is None else f" ({100 * usage.cached_share:.0f} % cached)"
        thoughts = f" ({usage.reasoning_tokens:,} of them thoughts)" if usage.reasoning_tokens else ""
        out = f"{number(usage.completion_tokens)} out{thoughts}"
        lines.append(f"Tokens: {number(usage.prompt_tokens)} in{cached}, {out}")
    if usage.latency_mean is not None:
        lines.append(f"Time: {usage.latency_mean:.2f} s a reply")
    return lines


def _lengths(found: Diagnostics | None) -> list[str]:
    """Whether long or short options are chosen more often than others."""
    if found is None:
        return []
    lines = []
    for name, picks in (("longest", found.longest), ("shortest", found.shortest)):
        if picks.n:
            right = "" if picks.right_share is None else f"; it is right in {percent(picks.right_share)}"
            lines.append(
                f"The {name} option is chosen in {percent(picks.share)} "
                f"of {counted(picks.n, 'question that has', 'questions that have')} one, "
                f"95 % {ranged(picks.interval)}{right}"
            )
    return lines


def _repeated(found: Repeats | None) -> list[str]:
    """What asking more than once tells."""
    if found is None or not found.questions:
        return []
    orders = f" in {found.rotations} orders of the options" if found.rotations > 1 else ""
    asked = counted(found.questions, "question")
    same = f"the same option every time in {percent(found.consistency)} of {asked}"
    most = f"{percent(found.agreement)} of the asks as most of their question"
    lines = [f"Asked {found.asks} times each{orders}, counted by majority: {same}, {most}"]
    if found.labelled:
        name = " (CircularEval)" if found.rotations > 1 else ""
        lines.append(
            f"Right every time{name}: {percent(found.accuracy_always)},"
            f" 95 % {ranged(found.interval_always)}; right in a single ask: {percent(found.accuracy_of_one)}"
        )
    if found.rotations > 1:
        shown = ", ".join(f"{letter} {n:,}" for letter, n in found.shown.items())
        spread = found.evenness
        test = f"; chi-square {spread.chi_square:.1f}, p {chance(spread.p)}" if spread else ""
        lines.append(f"Places chosen, each option having stood once in each: {shown}{test}")
    return lines


def _accuracy(scores: Scores) -> list[str]:
    total, found = scores.total, scores.averages
    if total.interval is None or total.bounds is None:
        return []
    low, high = map(percent, total.interval)
    worst, best = map(percent, total.bounds)
    questions, tasks = _average(found.over_questions, "question"), _average(found.over_tasks, "task")
    accuracy, answered = percent(total.accuracy), percent(total.accuracy_answered)
    labelled = counted(total.labelled, "labelled question")
    return [
        f"Accuracy {accuracy} of {labelled}, 95 % interval {low} to {high}",
        f"Bounds: {worst} if all unanswered were wrong, {best} if all were right; {answered} of the answered",
        f"Average over questions {questions}, over tasks {tasks}",
        *_own_average(scores),
        *_intervals_over_tasks(scores),
    ]


def _own_average(scores: Scores) -> list[str]:
    """The number that the suite's authors print."""
    found, taxonomy = scores.averages, scores.taxonomy
    if taxonomy.average is None:
        return []
    if taxonomy.average is not Mean.CLUSTERS:
        return [f"{taxonomy.title}'s own Average is the one over {taxonomy.average}"]
    pooled = _average(found.over_clusters_pooled, "cluster")
    means = _average(found.over_clusters_task_mean, "cluster")
    return [f"M3KE's Average (mean of four clusters): {pooled}, questions pooled; {means}, means of tasks"]


def _intervals_over_tasks(scores: Scores) -> list[str]:
    """How far the averages would move with other tasks, where that can be told."""
    found = scores.averages
    named = {"questions": found.over_questions, "tasks": found.over_tasks}
    if scores.taxonomy.average is Mean.CLUSTERS:
        named["M3KE's Average"] = found.over_clusters_pooled
    told = [
        f"{name} {ranged(average.interval)} %"
        for name, average in named.items()
        if average.interval is not None
    ]
    return [f"With other tasks, 95 %: {', '.join(told)}"] if told else []


def _average(average: Average, unit: str) -> str:
    partial = ", partial" if average.partial else ""
    return f"{percent(average.value)} ({counted(average.n, unit)}{partial})"


def remarks(scores: Scores, shots: int) -> list[str]:
    """What should be known before it is believed, a sentence a line; `shots` as they were wanted."""
    return [
        *_remarks_on_labels(scores),
        *_remarks_on_replies(scores.total),
        *_remarks_on_probabilities(scores.diagnostics),
        *_remarks_on_servers(scores.diagnostics),
        *_remarks_on_coverage(scores),
        *_remarks_on_examples(scores.diagnostics, shots),
        *_remarks_on_dev(scores, scores.shots(shots)),
    ]


def _remarks_on_labels(scores: Scores) -> list[str]:
    total = scores.total
    lines = total.asked - total.missing
    if not lines:
        return ["No question has an answer yet, so there is no accuracy"]
    if not total.labelled and scores.split is not Split.TEST:
        nothing = f"No {scores.split} question has a known answer, so there is no accuracy"
        return [f"{nothing}; m3ke score RUN --key FILE"]
    if not total.labelled:
        unlabelled = f"The {scores.split} split has no public answers"
        return [f"{unlabelled}: predictions were written, no accuracy exists; m3ke score RUN --key FILE"]
    if total.labelled < lines:
        known = f"{total.labelled:,} of {counted(lines, 'question has', 'questions have')} a known answer"
        return [f"{known}; accuracies are over these"]
    return []


def _remarks_on_replies(total: GroupScore) -> list[str]:
    remarks = []
    letter, most = max(total.letters.items(), key=lambda item: item[1])
    if total.answered >= _ENOUGH_LETTERS and most > total.answered / 2:
        by_chance = total.interval is not None and total.interval[0] <= _CHANCE <= total.interval[1]
        meaning = "near chance" if by_chance else "a sign of position bias"
        remarks.append(
            f"Warning: answers {letter} in {100 * most / total.answered:.0f} % of the cases: {meaning}"
        )
    truncated = total.outcomes[Outcome.TRUNCATED]
    if truncated > _MANY_TRUNCATED * total.asked:
        remarks.append(
            f"Warning: {truncated:,} of {counted(total.asked, 'reply', 'replies')} ran out of tokens before "
            "a choice; give a larger --max-tokens"
        )
    return remarks


def _remarks_on_probabilities(found: Diagnostics | None) -> list[str]:
    """The likeliest letter of a few unlikely ones says little."""
    if found is None or found.outside is None or found.outside <= _MOST_OUTSIDE:
        return []
    lies = f"Warning: {percent(found.outside)} of the probability lies on no letter: other words come first"
    return [f"{lies}; a template that leads to a letter, or --answer text, tells more"]


def _remarks_on_servers(found: Diagnostics | None) -> list[str]:
    """One run should be one model from its first reply to its last."""
    served = found.served if found is not None else ()
    if len(served) < 2:
        return []
    named = (f"{_who(one)} ({counted(one.replies, 'reply', 'replies')})" for one in served[:3])
    more = f" and {len(served) - 3} more" if len(served) > 3 else ""
    changed = f"Warning: the served model changed during the run: {', '.join(named)}{more}"
    return [f"{changed}; the scores mix them, --fresh asks all again"]


def _who(served: Served) -> str:
    return one_line(" ".join(filter(None, (served.model, served.fingerprint))), limit=80)


def _remarks_on_coverage(scores: Scores) -> list[str]:
    total, found = scores.total, scores.averages
    remarks = []
    if total.incomplete:
        remarks.append(
            f"Warning: incomplete: {total.outcomes[Outcome.FAILED]:,} failed (counted as wrong),"
            f" {total.missing:,} missing (left out); m3ke run with the same settings goes on"
        )
    if total.labelled and found.over_clusters_pooled.partial:
        covered, absent = len(found.over_tasks.covered), len(found.over_tasks.absent)
        clusters, of = found.over_clusters_pooled.n, len(scores.taxonomy.clusters)
        tasks = max(covered + absent, scores.taxonomy.tasks or 0)
        in_clusters = f", {clusters} of {of} clusters" if of else ""
        remarks.append(
            f"Warning: partial: the averages cover {total.labelled:,} of {counted(total.size, 'question')},"
            f" {covered} of {counted(tasks, 'task')}{in_clusters}"
        )
    return remarks


def _remarks_on_examples(found: Diagnostics | None, shots: int) -> list[str]:
    """Tasks may have fewer labelled dev rows than examples were wanted."""
    examples = found.examples if found is not None else {}
    fewer = [number for number in examples if number < shots]
    if not fewer:
        return []
    few = sum(examples[number] for number in fewer)
    prompts = counted(sum(examples.values()), "prompt has", "prompts have")
    least, most = min(fewer), max(fewer)
    had = f"{least}" if least == most else f"{least} to {most}"
    return [f"Fewer examples than --shots {shots}: {few:,} of {prompts} {had}"]


def _remarks_on_dev(scores: Scores, shots: int) -> list[str]:
    remarks = []
    if (interval := scores.total.interval) is not None:
        half = 50 * (interval[1] - interval[0])
        if half >= _WIDE:
            remarks.append(
                f"{counted(scores.total.labelled, 'question tells', 'questions tell')} the accuracy to about "
                f"{half:.0f} points either way: models that lie closer cannot be told apart"
            )
    if shots and scores.split == Split.DEV:
        remarks.append(
            f"{shots}-shot on dev is leave-one-out: a question is never among its own examples, all from dev"
        )
    return remarks


def without_letter(group: Counts) -> dict[str, int]:
    """Counts of every outcome but answered, and of the missing, by name."""
    counts = {outcome.value: n for outcome, n in group.outcomes.items() if outcome is not Outcome.ANSWERED}
    return counts | {"missing": group.missing}
