from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from m3ke_async.diagnostics import Diagnostics, Picks, Served
from m3ke_async.published import PublishedTable, published_table
from m3ke_async.report.sentences import summary_lines
from m3ke_async.report.terminal import render
from m3ke_async.request import Outcome, Usage
from m3ke_async.score import Scores, score
from m3ke_async.suite import Cluster, Level, Split
from tests.scoring import answer, answers, make_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.answer import Answer
    from m3ke_async.suite import Task


def four_clusters(size: int = 20) -> list[Task]:
    levels = list(Level)
    return [
        make_task(f"科目{number}", cluster, levels[number], size=size)
        for number, cluster in enumerate(Cluster)
    ]


def dev_run(size: int = 20) -> Scores:
    """Half right in every cluster, one reply without a choice each, letters spread."""
    lines: list[Answer] = []
    for task in four_clusters(size):
        for number in range(size):
            letter = "ABCD"[number % 4] if number else None
            key = letter if letter and number % 2 else "A" if letter != "A" else "B"
            lines.append(answer(task, number, letter, key, usage=Usage(100, 2, 25)))
    return score(four_clusters(size), lines, split=Split.DEV)


def lopsided(total: int, letter_b: int, *, key: str | None = "A", right: int = 0) -> Scores:
    """So many answers are B, `right` are A, the rest C; the key is A."""
    task = make_task("X", size=total, labelled=0 if key is None else total)
    letters = ["B"] * letter_b + ["A"] * right + ["C"] * (total - letter_b - right)
    return score(
        [task], [answer(task, number, letter, key) for number, letter in enumerate(letters)], split=Split.DEV
    )


def printed(
    scores: Scores,
    *,
    width: int = 80,
    published: PublishedTable | None = None,
    settings: Sequence[str] = (),
    encoding: str = "utf-8",
    shots: int = 0,
    tasks: bool = False,
) -> str:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding, newline="\n") as file:
        console = Console(file=file, width=width, _environ={})  # no FORCE_COLOR from outside
        render(scores, settings, published, console, shots=shots, tasks=tasks)
        file.flush()
        return raw.getvalue().decode(encoding)


def one_paragraph(text: str) -> str:
    return re.sub(r"\s+", " ", text)


# Sentences


def test_the_headline_gives_interval_and_both_bounds() -> None:
    task = make_task("X", size=10)
    lines = summary_lines(score([task], answers(task, right=4, wrong=2, unparsed=4), split=Split.DEV))
    assert lines[:3] == [
        "Accuracy 40.0 % of 10 labelled questions, 95 % interval 16.8 % to 68.7 %",
        "Bounds: 40.0 % if all unanswered were wrong, 80.0 % if all were right; 66.7 % of the answered",
        "Average over questions 40.0 % (10 questions), over tasks 40.0 % (1 task)",
    ]
    assert "Questions: 10 asked; 6 answered, 4 unparsed" in lines
    assert "Letters: A 4 (67 %), B 2 (33 %), C 0 (0 %), D 0 (0 %)" in lines


def test_both_ways_to_build_m3kes_average_are_named() -> None:
    text = one_paragraph(" ".join(summary_lines(dev_run())))
    assert "M3KE's Average (mean of four clusters): 50.0 % (4 clusters), questions pooled;" in text
    assert "50.0 % (4 clusters), means of tasks" in text
    assert "partial" not in text


def test_where_there_are_enough_tasks_the_averages_have_intervals_over_them() -> None:
    tasks = [make_task(f"T{number}", cluster, size=4) for cluster in Cluster for number in range(3)]
    lines = [
        line
        for number, task in enumerate(tasks)
        for line in answers(task, right=number % 3, wrong=4 - number % 3)
    ]
    told = [line for line in summary_lines(score(tasks, lines, split=Split.DEV)) if "other tasks" in line]
    # shares 0, 0.25, 0.5 in each cluster: s² = 1/16, so the variance is 1/16/3/4; t on 8 is 2.306
    assert told == [
        "With other tasks, 95 %: questions 11.5-38.5 %, tasks 11.5-38.5 %, M3KE's Average 8.4-41.6 %"
    ]
    assert not any("other tasks" in line for line in summary_lines(dev_run()))


def test_tokens_with_their_cached_share_and_time_are_told() -> None:
    lines = summary_lines(dev_run())
    assert "Tokens: 8,000 in (25 % cached), 160 out" in lines
    assert "Time: 0.50 s a reply" in lines


@pytest.mark.parametrize(("outside", "warned"), [(None, False), (0.4, False), (0.9, True)])
def test_probability_that_lies_on_no_letter_is_told_and_much_of_it_warned_of(
    outside: float | None, *, warned: bool
) -> None:
    lines = _with(Diagnostics(Picks(), Picks(), (), outside))
    assert any(line.startswith("Probability on no letter") for line in lines) is (outside is not None)
    assert any("lies on no letter" in line for line in lines) is warned


def test_tokens_that_went_into_thoughts_are_told() -> None:
    told = dev_run()
    thinking = replace(told, usage=replace(told.usage, reasoning_tokens=150))
    assert "Tokens: 8,000 in (25 % cached), 160 out (150 of them thoughts)" in summary_lines(thinking)


def test_without_reported_tokens_nothing_is_said_of_them() -> None:
    assert not any(line.startswith("Tokens") for line in summary_lines(lopsided(10, 1)))


def test_unlabelled_questions_get_the_way_to_a_score_and_no_accuracy() -> None:
    task = make_task("X", size=30, labelled=0, split=Split.TEST)
    lines = [answer(task, number, "ABCD"[number % 4], None, split=Split.TEST) for number in range(30)]
    scores = score([task], lines, split=Split.TEST)
    assert summary_lines(scores)[-1] == (
        "The test split has no public answers: predictions were written, no accuracy exists;"
        " m3ke score RUN --key FILE"
    )
    text = one_paragraph(printed(scores, published=published_table(0)))
    assert "0.0" not in text
    assert "ccuracy" not in text.replace("no accuracy exists", "")
    assert "GPT" not in text


def test_partly_labelled_questions_are_said_to_be() -> None:
    task = make_task("X", size=10, labelled=3)
    lines = [answer(task, number, "B", "B" if number < 3 else None) for number in range(10)]
    assert any(
        line.startswith("3 of 10 questions have a known answer")
        for line in summary_lines(score([task], lines, split=Split.DEV))
    )


@pytest.mark.parametrize(
    ("letter_b", "right", "warning"),
    [
        (76, 24, "Warning: answers B in 76 % of the cases: near chance"),
        (60, 5, "Warning: answers B in 60 % of the cases: a sign of position bias"),
        (51, 25, "Warning: answers B in 51 % of the cases: near chance"),
        (50, 25, None),
    ],
)
def test_one_letter_in_more_than_half_of_the_answers_is_a_warning(
    letter_b: int, right: int, warning: str | None
) -> None:
    lines = summary_lines(lopsided(100, letter_b, right=right))
    assert [line for line in lines if "answers B" in line] == ([warning] if warning else [])


def test_the_letters_of_an_unlabelled_run_are_judged_without_a_word_on_chance() -> None:
    lines = summary_lines(lopsided(100, 76, key=None))
    assert "Warning: answers B in 76 % of the cases: a sign of position bias" in lines


def test_a_handful_of_answers_is_too_few_for_a_word_on_letters() -> None:
    assert not any("answers B" in line for line in summary_lines(lopsided(5, 5)))


@pytest.mark.parametrize(("truncated", "warned"), [(5, False), (6, True)])
def test_more_than_5_percent_truncated_names_the_option(truncated: int, warned: bool) -> None:
    task = make_task("X", size=100)
    lines = [
        answer(task, number, None, outcome=Outcome.TRUNCATED)
        if number < truncated
        else answer(task, number, "ABCD"[number % 4])
        for number in range(100)
    ]
    text = " ".join(summary_lines(score([task], lines, split=Split.DEV)))
    assert ("--max-tokens" in text) == warned
    assert (f"{truncated} of 100 replies ran out of tokens" in text) == warned


def test_owed_questions_are_told_and_how_to_go_on() -> None:
    task = make_task("X", size=10)
    lines = summary_lines(score([task], answers(task, right=6, failed=1), split=Split.DEV))
    expected = "Warning: incomplete: 1 failed (counted as wrong), 3 missing (left out)"
    assert any(line.startswith(expected) and "m3ke run with the same settings" in line for line in lines)


def test_a_part_of_the_suite_is_told_to_be_a_part() -> None:
    tasks = four_clusters()
    lines = answers(tasks[0], right=10)
    scores = score(tasks, lines, split=Split.DEV, selected=[tasks[0].name], limit=10)
    text = " ".join(summary_lines(scores))
    assert "partial: the averages cover 10 of 80 questions, 1 of 4 tasks, 1 of 4 clusters" in text
    assert "incomplete" not in text
    assert "this run, partial, pooled" in one_paragraph(printed(scores, published=published_table(0)))


def test_few_questions_are_told_to_be_few() -> None:
    lines = summary_lines(lopsided(355, 100, right=170))
    assert any("355 questions tell the accuracy to about 5 points either way" in line for line in lines)
    assert not any("either way" in line for line in summary_lines(lopsided(20_000, 5_000, right=9_000)))


@pytest.mark.parametrize(("shots", "said"), [(0, False), (4, True)])
def test_examples_on_dev_are_told_to_leave_the_question_out(shots: int, said: bool) -> None:
    assert ("4-shot on dev is leave-one-out" in " ".join(summary_lines(dev_run(), shots=shots))) == said


def test_no_answers_at_all_is_said_plainly() -> None:
    scores = score(four_clusters(), [], split=Split.DEV)
    text = printed(scores, published=published_table(0), tasks=True)
    assert "No question has an answer yet" in text
    assert "80 missing" in text
    assert "predictions were written" not in text
    assert printed(score([], [], split=Split.DEV))


def test_sentences_are_plain_ascii() -> None:
    assert all(line.isascii() for line in summary_lines(dev_run(), shots=4))


def _with(diagnostics: Diagnostics) -> list[str]:
    return summary_lines(replace(lopsided(40, 10, right=10), diagnostics=diagnostics))


def test_the_spread_of_letters_has_its_test() -> None:
    # 10 A, 10 B, 20 C of 40: chi-square is (0 + 0 + 100 + 100) / 10
    lines = summary_lines(lopsided(40, 10, right=10))
    assert "Against a quarter each: chi-square 20.0 on 3 degrees of freedom, p < 0.001" in lines
    assert not any("chi-square" in line for line in summary_lines(lopsided(19, 10)))


def test_favourite_lengths_stand_beside_what_is_right() -> None:
    lines = _with(Diagnostics(Picks(30, 12, 20, 5), Picks(), ()))
    assert (
        "The longest option is chosen in 40.0 % of 30 questions that have one, 95 % 24.6-57.7;"
        " it is right in 25.0 %"
    ) in lines
    assert not any("shortest" in line for line in lines)


def test_a_model_that_changed_during_the_run_is_a_warning() -> None:
    one, other = Served("m", "fp_1", 30), Served("m\x1b[0m", None, 10)
    told = [line for line in _with(Diagnostics(Picks(), Picks(), (one, other))) if "served" in line]
    (line,) = told
    assert line == (
        "Warning: the served model changed during the run: m fp_1 (30 replies), m\ufffd[0m (10 replies);"
        " the scores mix them, --fresh asks all again"
    )
    assert not any("served" in line for line in _with(Diagnostics(Picks(), Picks(), (one,))))


# Tables


def test_counts_stand_beside_every_accuracy() -> None:
    text = printed(dev_run())
    heading, *rows = text[text.index("By cluster") :].splitlines()[1:6]
    assert heading.split() == ["n", "acc.%", "interval", "A", "B", "C", "D", "unp"]
    assert rows[0].split() == ["Arts", "&", "Humanities", "20", "50.0", "29.9-70.1", *"4555", "1"]
    assert "unp = unparsed" in text


def test_kinds_of_replies_that_do_not_occur_have_no_column() -> None:
    text = printed(dev_run())
    assert not any(kind in text for kind in (" ref", " fil", " amb", " fai", " mis"))


def test_the_published_rows_stand_beside_the_run() -> None:
    text = printed(dev_run(), published=published_table(0))
    rows = {
        line[:21].strip(): line[21:].split() for line in text.splitlines() if line.startswith(("GPT", "this"))
    }
    assert rows["this run, pooled"] == ["50.0"] * 5
    assert rows["this run, task means"] == ["50.0"] * 5
    assert rows["GPT-4"] == ["58.8", "67.6", "62.3", "66.5", "63.8"]
    assert rows["GPT-3.5-turbo"] == ["46.0", "53.8", "44.4", "48.1", "48.1"]
    assert "BELLE-7B-2M" in text  # 0.333 and 0.328 are the open averages nearest to 0.5
    assert "GLM-130B" in text
    assert "ChatGLM-6B" not in text
    assert "b370aae" in text


def test_other_shots_than_the_published_ones_are_told() -> None:
    text = printed(dev_run(), published=published_table(4), shots=4)
    assert "5-shot results" in text
    assert "this run: 4-shot" in one_paragraph(text)
    assert "this run:" not in printed(dev_run(), published=published_table(0))


def test_other_suites_have_no_published_rows() -> None:
    assert "GPT" not in printed(dev_run(), published=None)


def test_tasks_are_listed_only_when_asked_and_only_those_that_were_asked() -> None:
    tasks = four_clusters()
    scores = score(tasks, answers(tasks[1], right=20), split=Split.DEV, selected=[tasks[1].name])
    assert "By task" not in printed(scores)
    text = printed(scores, tasks=True)
    assert "科目1, Junior high school" in text
    assert "科目0" not in text


@pytest.mark.parametrize("width", [80, 60, 40])
@pytest.mark.parametrize("shots", [0, 5])
def test_no_line_is_wider_than_the_console(width: int, shots: int) -> None:
    text = printed(
        dev_run(),
        width=width,
        published=published_table(shots),
        tasks=True,
        shots=shots,
        settings=["模型" * 40],
    )
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_a_narrow_console_gets_lists_with_the_same_numbers() -> None:
    text = one_paragraph(printed(dev_run(), width=40, published=published_table(0)))
    assert "Arts & Humanities n 20, acc.% 50.0, interval 29.9-70.1, A 4, B 5, C 5, D 5, unp 1" in text
    assert "GPT-4 Arts 58.8, Social 67.6, Natural 62.3, Other 66.5, Average 63.8" in text


def test_chinese_names_keep_the_columns_aligned() -> None:
    tasks = [make_task(name, size=20) for name in ("语文", "Law", "马克思主义基本原理")]
    scores = score(tasks, [line for task in tasks for line in answers(task, right=20)], split=Split.DEV)
    text = printed(scores, tasks=True)
    lines = text[text.index("By task") :].splitlines()
    rows = [line for line in lines if "100.0" in line]
    ends = {cell_len(line[: line.index("100.0")]) for line in rows}
    assert len(rows) == 3
    assert len(ends) == 1


# Foreign text and other terminals


def test_a_pipe_gets_no_colour_and_no_control_characters() -> None:
    text = printed(
        dev_run(), published=published_table(0), tasks=True, settings=["model x\x1b[31m\x07\u202e\r"]
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_markup_and_emoji_codes_are_shown_as_they_are() -> None:
    text = printed(dev_run(), settings=["model [bold]x[/bold] [/] :smile:"])
    assert text.startswith("model [bold]x[/bold] [/] :smile:\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "cp1252"])
def test_an_encoding_without_the_characters_gets_escapes(encoding: str) -> None:
    task = make_task("数学", size=20)
    scores = score([task], answers(task, right=20), split=Split.DEV)
    text = printed(
        scores, encoding=encoding, tasks=True, settings=["模型 é \ud800"], published=published_table(0)
    )
    assert ("数学" if encoding == "gbk" else r"\u6570\u5b66") in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
