"""Questions that are asked more than once: by majority, and how far the asks agree."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.errors import DataError, ExitCode
from m3ke_async.intervals import wilson
from m3ke_async.repeats import majority
from m3ke_async.request import Outcome
from m3ke_async.rotation import own_letter, rotated, shown_letter
from m3ke_async.score import Scores, score
from m3ke_async.suite import Question, Split
from tests.command import m3ke
from tests.questions import OPTIONS, row, task_name, write_suite
from tests.scoring import answer, make_task
from tests.server import in_thread, reply, right
from tests.small_suite import row as small_row
from tests.small_suite import write_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from m3ke_async.answer import Answer
    from tests.server import Act, Server

A, B, NONE = (Outcome.ANSWERED, "A"), (Outcome.ANSWERED, "B"), (Outcome.UNPARSED, None)
REFUSED, FAILED, SEVERAL = (Outcome.REFUSED, None), (Outcome.FAILED, None), (Outcome.AMBIGUOUS, None)


# Majority


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ([A], A),
        ([NONE], NONE),
        ([A, A, B, B], SEVERAL),
        ([A, B, A, NONE], A),
        ([A, NONE, NONE, NONE], A),  # of those that chose a letter
        ([A, B, NONE, NONE], SEVERAL),
        ([NONE, REFUSED, REFUSED, SEVERAL], REFUSED),
        ([REFUSED, NONE], NONE),  # equally frequent: in the order of the outcomes
        ([A, A, A, FAILED], FAILED),  # it is asked again, and counted then
    ],
)
def test_most_asks_decide(asked: list[tuple[Outcome, str | None]], verdict: Any) -> None:
    assert majority(asked) == majority(asked[::-1]) == verdict


# Rotation


def test_options_move_up_and_letters_are_found_again() -> None:
    question = Question(1, "?", ("一", "二", "三", "四"), "A")
    found = rotated(question, 1)
    assert (found.options, found.answer) == (("二", "三", "四", "一"), "D")
    assert rotated(question, 0) == question
    assert replace(found, options=question.options, answer="A") == question


@given(st.integers(0, 3), st.sampled_from("ABCD"))
def test_a_letter_survives_the_rotation(rotation: int, letter: str) -> None:
    question = Question(1, "?", ("一", "二", "三", "四"), letter)
    found = rotated(question, rotation)
    assert found.answer is not None
    assert found.option_map[found.answer] == question.option_map[letter]
    assert own_letter(shown_letter(letter, rotation), rotation) == letter
    assert shown_letter(letter, rotation) == found.answer


def test_each_option_stands_once_in_each_place() -> None:
    question = Question(1, "?", ("一", "二", "三", "四"), None)
    orders = [rotated(question, rotation).options for rotation in range(4)]
    assert all(len(set(place)) == 4 for place in zip(*orders, strict=True))


# Scores


def _asked(task: Any, number: int, letters: str, key: str | None = "A") -> list[Answer]:
    """The four orders of a question; the letters are its own, `-` is none and `!` failed."""
    return [
        replace(
            answer(
                task,
                number,
                None if letter in "-!" else letter,
                key,
                outcome=Outcome.FAILED if letter == "!" else None,
            ),
            rotation=rotation,
        )
        for rotation, letter in enumerate(letters)
    ]


def _scored(*letters: str, key: str | None = "A", size: int | None = None) -> Scores:
    task = make_task("X", size=size or len(letters), labelled=None if key else 0)
    lines = [line for number, text in enumerate(letters) for line in _asked(task, number, text, key)]
    return score([task], lines, split=Split.DEV, rotate=True)


def test_figures_worked_by_hand() -> None:
    scores = _scored("AAAA", "AAAB", "AABB", "BBBB", "A---", "----")
    assert (scores.total.correct, scores.total.labelled, scores.total.accuracy) == (3, 6, 0.5)
    outcomes = scores.total.outcomes
    assert (outcomes[Outcome.ANSWERED], outcomes[Outcome.AMBIGUOUS], outcomes[Outcome.UNPARSED]) == (4, 1, 1)
    found = scores.repeats
    assert found is not None
    assert (found.asks, found.questions, found.labelled) == (4, 6, 6)
    assert (found.consistent, found.consistency) == (2, 2 / 6)
    assert (found.agreeing, found.agreement) == (4 + 3 + 2 + 4 + 1, 14 / 24)
    assert (found.right_asks, found.accuracy_of_one) == (4 + 3 + 2 + 1, 10 / 24)
    assert (found.right_always, found.accuracy_always) == (1, 1 / 6)
    assert found.interval_always == wilson(1, 6)


def test_the_places_that_were_chosen_are_those_before_the_model() -> None:
    # whoever always answers the first place chooses A, B, C, D in the four orders
    found = _scored("ABCD", "ABCD").repeats
    assert found is not None
    assert found.shown == {"A": 8, "B": 0, "C": 0, "D": 0}
    assert (found.consistent, found.accuracy_of_one) == (0, 0.25)
    even = _scored("AAAA", "BBBB").repeats
    assert even is not None
    assert set(even.shown.values()) == {2}


def test_a_question_with_a_failed_or_missing_ask_is_incomplete() -> None:
    failed = _scored("AAAA", "AAA!")
    assert (failed.total.outcomes[Outcome.FAILED], failed.total.incomplete) == (1, True)
    assert failed.repeats is not None
    assert failed.repeats.questions == 1
    missing = _scored("AAAA", "AAA")
    assert (missing.total.missing, missing.total.correct, missing.total.incomplete) == (1, 1, True)


def test_tokens_are_those_of_all_asks() -> None:
    assert _scored("AAAA", "AAB").usage.replies == 7


def test_more_asks_than_were_made_are_refused() -> None:
    with pytest.raises(DataError, match="5 answers to question 0 of X"):
        _scored("AAAAA")


@pytest.mark.parametrize("letters", [[], ["----"], ["!!!!"], ["A"]])
@pytest.mark.parametrize("key", ["A", None])
def test_no_figure_is_ever_not_a_number_and_all_survive_json(letters: list[str], key: str | None) -> None:
    scores = _scored(*letters, key=key, size=2)
    text = json.dumps(scores.to_json(), allow_nan=False)
    assert Scores.from_json(json.loads(text)) == scores


@pytest.mark.parametrize(
    "change",
    [
        {"questions": 0},
        {"consistent": 3},
        {"agreeing": 99},
        {"labelled": 3},
        {"right_asks": 9},
        {"right_always": -1},
        {"right_always": "1"},
        {"shown": {"A": 99, "B": 0, "C": 0, "D": 0}},
        {"shown": {"A": 1}},
        {"samples": None},
    ],
)
def test_counts_that_do_not_add_up_are_refused(change: dict[str, Any]) -> None:
    value = json.loads(json.dumps(_scored("AAAA", "AAAB").to_json()))
    with pytest.raises(DataError, match="not written by this version"):
        Scores.from_json(value | {"repeats": value["repeats"] | change})


# A run


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


_OPTIONS = re.compile(r"([A-D])\. (\S+)")


def model(server: Server, choose: Callable[[str, Mapping[str, str], int], str]) -> None:
    """Let the server answer what `choose` makes of mark, shown options by text, and number of the ask."""
    begin = server.begin

    def answered(at: float, path: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Act]:
        mark, _ = begin(at, path, headers, body)
        shown = {
            text: letter for letter, text in _OPTIONS.findall(json.loads(body)["messages"][-1]["content"])
        }
        return mark, reply(choose(mark, shown, server.counts[mark]))

    server.begin = answered  # type: ignore[method-assign]


def _knows(mark: str, shown: Mapping[str, str], ask: int) -> str:
    return shown[OPTIONS[right(mark)]]


def ask(server: Server, suite: Path, results: Path, *options: str) -> Any:
    given = ("--base-url", server.url, "--data", suite, "--results", results, "--json", "--quiet")
    ran = m3ke("run", "vllm/m", *given, *options)
    assert ran.code in {ExitCode.COMPLETE, ExitCode.INCOMPLETE}, ran.err
    return ran.json


def lines(result: Any) -> list[dict[str, Any]]:
    from pathlib import Path

    return [json.loads(line) for line in (Path(result["path"]) / "answers.jsonl").read_bytes().splitlines()]


def test_who_knows_the_answer_gives_it_in_every_order(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    result = ask(server, write_suite(tmp_path / "suite", 2, 3), tmp_path / "results", "--rotate")
    assert len(server.seen) == 24
    repeats = result["scores"]["repeats"]
    assert (repeats["consistency"], repeats["accuracy_always"], repeats["rotations"]) == (1, 1, 4)
    assert result["scores"]["total"]["correct"] == 6
    assert set(repeats["shown"].values()) == {6}
    found = lines(result)
    assert [(line["id"], line["rotation"]) for line in found[:5]] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    assert all(line["choice"] == line["key"] for line in found)
    assert "sample" not in found[0]
    assert len({line["request"] for line in found}) == 24


def test_who_always_answers_the_same_place_is_found_out(server: Server, tmp_path: Path) -> None:
    model(server, lambda mark, shown, ask: "B")
    result = ask(server, write_suite(tmp_path / "suite", 2, 4), tmp_path / "results", "--rotate")
    repeats = result["scores"]["repeats"]
    assert repeats["shown"] == {"A": 0, "B": 32, "C": 0, "D": 0}
    assert (repeats["consistency"], repeats["accuracy_of_one"], repeats["accuracy_always"]) == (0, 0.25, 0)
    assert result["scores"]["total"]["outcomes"]["ambiguous"] == 8
    shown = " ".join(m3ke("score", result["path"]).out.split())
    assert "each option having stood once in each: A 0, B 32, C 0, D 0; chi-square 96.0, p < 0.001" in shown
    assert "Right every time (CircularEval): 0.0 %" in shown


def test_predictions_are_the_majority_in_the_letters_of_the_suite(server: Server, tmp_path: Path) -> None:
    model(server, lambda mark, shown, ask: "不知道" if mark == "Q0-1" else _knows(mark, shown, ask))
    rows = [row(f"Q0-{number}", number, labelled=False) for number in range(3)]
    suite = write_split(tmp_path / "suite", "test", task_name(0), rows)
    result = ask(server, suite, tmp_path / "results", "--rotate", "--split", "test")
    (file,) = (tmp_path / "results").glob("*/predictions/*.jsonl")
    predicted = [json.loads(line)["answer"] for line in file.read_bytes().splitlines()]
    assert predicted == [right("Q0-0"), "", right("Q0-2")]
    assert result["scores"]["repeats"]["labelled"] == 0
    assert result["scores"]["repeats"]["accuracy_always"] is None


def test_favourite_lengths_are_those_of_questions_and_not_of_asks(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: reply("A")
    long_first = {"A": "很长的选项", "B": "乙", "C": "丙", "D": "丁"}
    rows = [small_row(number, f"Q0-{number} 哪一个？", "B", **long_first) for number in range(2)]
    suite = write_split(tmp_path / "suite", "dev", task_name(0), rows)
    plain = ask(server, suite, tmp_path / "results")["scores"]["diagnostics"]["longest"]
    assert (plain["n"], plain["chosen"], plain["right"]) == (2, 2, 0)
    turned = ask(server, suite, tmp_path / "results", "--rotate")["scores"]["diagnostics"]["longest"]
    assert turned["n"] == 0  # each option once: no majority
    model(server, lambda mark, shown, ask: shown["很长的选项"])
    turned = ask(server, suite, tmp_path / "others", "--rotate")["scores"]["diagnostics"]["longest"]
    assert (turned["n"], turned["chosen"], turned["labelled"]) == (2, 2, 2)


def test_samples_ask_the_very_same_again_each_with_a_reply_of_its_own(server: Server, tmp_path: Path) -> None:
    model(server, lambda mark, shown, ask: _knows(mark, shown, ask) if ask != 2 else "不知道")
    suite, results = write_suite(tmp_path / "suite", 1, 3), tmp_path / "results"
    result = ask(server, suite, results, "--samples", "3", "--temperature", "0.7")
    assert (len(server.seen), len({seen.raw for seen in server.seen})) == (9, 3)
    repeats = result["scores"]["repeats"]
    assert (repeats["samples"], repeats["agreement"], repeats["accuracy_always"]) == (3, 6 / 9, 0)
    assert result["scores"]["total"]["correct"] == 3
    found = lines(result)
    assert [line["sample"] for line in found] == [0, 1, 2] * 3
    assert "rotation" not in found[0]
    assert ask(server, suite, results, "--samples", "3", "--temperature", "0.7")["scores"] == result["scores"]
    assert len(server.seen) == 9  # nothing again
    ask(server, suite, results, "--samples", "5", "--temperature", "0.7")
    assert len(server.seen) == 15  # the further two alone


def test_both_together_ask_each_order_so_often(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    suite = write_suite(tmp_path / "suite", 1, 4)
    given = ("--rotate", "--samples", "2", "--temperature", "1")
    result = ask(server, suite, tmp_path / "results", *given)
    assert [(line["rotation"], line["sample"]) for line in lines(result)[:3]] == [(0, 0), (0, 1), (1, 0)]
    assert result["scores"]["repeats"]["asks"] == 8
    assert result["scores"]["repeats"]["evenness"] is None  # samples are alike
    assert result["scores"]["repeats"]["accuracy_always"] == 1


def test_a_plain_run_is_the_one_that_it_was_before(server: Server, tmp_path: Path) -> None:
    path = ask(server, write_suite(tmp_path / "suite", 1, 1), tmp_path / "results")["path"]
    with open(f"{path}/run.json", "rb") as file:  # noqa: PTH123
        assert not {"rotate", "samples"} & json.load(file)["identity"].keys()


def test_a_question_of_which_asks_are_missing_has_no_letter_anywhere_yet(
    server: Server, tmp_path: Path
) -> None:
    model(server, _knows)
    rows = [row(f"Q0-{number}", number, labelled=False) for number in range(3)]
    suite, results = write_split(tmp_path / "suite", "test", task_name(0), rows), tmp_path / "results"
    given = ("--base-url", server.url, "--data", suite, "--results", results, "--split", "test", "--quiet")
    assert m3ke("run", "vllm/m", "--name", "plain", *given).code == ExitCode.COMPLETE
    # the plain run has the first order of each question; four more asks complete one of them
    more = ("--rotate", "--name", "turned", "--max-requests", "4", "--concurrency", "1")
    assert m3ke("run", "vllm/m", *given, *more).code == ExitCode.INCOMPLETE
    (file,) = (results / "turned").glob("predictions/*.jsonl")
    predicted = [json.loads(line)["answer"] for line in file.read_bytes().splitlines()]
    assert predicted == [right("Q0-0"), "", ""]
    pair = m3ke("compare", "plain", "turned", "--results", results, "--json").json["pairs"][0]
    assert (pair["shared"], pair["left_out"]) == (1, 2)


def test_the_order_of_the_suite_shares_its_reply_with_a_plain_run(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    suite, results = write_suite(tmp_path / "suite", 1, 3), tmp_path / "results"
    plain = ask(server, suite, results)
    assert not {"rotation", "sample"} & lines(plain)[0].keys()
    assert plain["scores"]["repeats"] is None
    rotated_run = ask(server, suite, results, "--rotate")
    assert len(server.seen) == 3 + 9
    assert rotated_run["path"] != plain["path"]


def test_what_is_missing_of_a_question_is_asked_by_the_same_command(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    suite, results = write_suite(tmp_path / "suite", 1, 3), tmp_path / "results"
    ran = m3ke(
        *("run", "vllm/m", "--base-url", server.url, "--data", suite, "--results", results, "--rotate"),
        *("--max-requests", "6", "--concurrency", "1", "--json", "--quiet"),
    )
    assert ran.code == ExitCode.INCOMPLETE
    assert ran.json["scores"]["total"]["missing"] == 2
    again = ask(server, suite, results, "--rotate")
    assert again["scores"]["total"]["correct"] == 3
    assert len(server.seen) == 12


def test_samples_without_temperature_are_refused(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 1)
    ran = m3ke("run", "vllm/m", "--base-url", server.url, "--data", suite, "--quiet", "--samples", "3")
    assert ran.code == ExitCode.USAGE
    assert "--temperature above 0" in ran.error
    assert not server.seen


def test_the_plan_counts_every_ask(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 3)
    ran = m3ke(
        *("plan", "vllm/m", "--base-url", server.url, "--data", suite, "--results", tmp_path / "results"),
        *("--rotate", "--samples", "2", "--temperature", "1", "--json"),
    )
    assert (ran.json["questions"], ran.json["requests"]) == (3, 24)


def test_explain_shows_each_ask_with_its_own_order(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    suite, results = write_suite(tmp_path / "suite", 1, 1), tmp_path / "results"
    run = ask(server, suite, results, "--rotate")["path"]
    shown = m3ke("explain", run, task_name(0), "0").out
    assert [line for line in shown.splitlines() if line.startswith("## ")] == [
        f"## rotation {number}" for number in range(4)
    ]
    assert "A. 第二个词\nB. 第三个词" in shown
    assert "letter D" in shown
    assert m3ke("score", run, "--diff").out == ""


def test_a_rotated_run_is_compared_by_its_majority(server: Server, tmp_path: Path) -> None:
    model(server, lambda mark, shown, ask: _knows(mark, shown, ask) if mark != "Q0-0" else "A")
    suite, results = write_suite(tmp_path / "suite", 1, 4), tmp_path / "results"
    for name, more in (("plain", ()), ("turned", ("--rotate",))):
        ask(server, suite, results, "--name", name, *more)
    pair = m3ke("compare", "plain", "turned", "--results", results, "--json").json["pairs"][0]
    assert (pair["shared"], pair["agreement"]["without"], pair["agreement"]["same"]) == (4, 1, 3)
    assert (pair["total"]["both"], pair["total"]["first_only"]) == (3, 1)


def test_reports_have_a_row_an_ask(server: Server, tmp_path: Path) -> None:
    model(server, _knows)
    suite, results = write_suite(tmp_path / "suite", 1, 2), tmp_path / "results"
    run = ask(server, suite, results, "--rotate", "--name", "turned")["path"]
    for form in ("csv", "html"):
        assert m3ke("report", run, "--format", form).code == ExitCode.COMPLETE
    with (results / "turned" / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["rotation"], row["sample"]) for row in rows[:5]] == [
        *(("0", str(rotation), "") for rotation in range(4)),
        ("1", "0", ""),
    ]
