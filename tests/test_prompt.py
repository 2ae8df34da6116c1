from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import DataError
from m3ke_async.prompt import FewShot, Prompt, Prompter, Template, load_template, template_names
from m3ke_async.suite import Split, load_suite
from m3ke_async.text import normalised
from tests.small_suite import COOKING, only_task, row, write_split, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.suite import Task

ZERO = "请根据以下问题从‘A’、‘B’、‘C’、‘D’中选择正确的选项"
FEW = "请根据以下示例和问题从‘A’、‘B’、‘C’、‘D’中选择正确的选项"

OWN = """
name = "own/1"
zero_shot = "Z"
few_shot = "F"
question = "{question}|{A}|{B}|{C}|{D}|"
answer = "{answer}!"
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return only_task(write_suite(tmp_path / "suite", tasks=(COOKING,)))


def prompts(
    task: Task,
    split: Split = Split.TEST,
    *,
    shots: int = 0,
    fewshot: FewShot = FewShot.MESSAGE,
    system: str | None = None,
    template: Template | None = None,
) -> list[Prompt]:
    prompter = Prompter(
        template or load_template("m3ke-zh/1"), task, split, shots=shots, fewshot=fewshot, system=system
    )
    return [prompter.prompt(question) for question in task.questions(split)]


def text_of(prompt: Prompt) -> str:
    return "\n".join(message["content"] for message in prompt.messages)


def own_template(tmp_path: Path, text: str | bytes) -> Template:
    path = tmp_path / "own.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_template(str(path))


def refusal(tmp_path: Path, text: str | bytes) -> DataError:
    with pytest.raises(DataError) as caught:
        own_template(tmp_path, text)
    assert caught.value.file == tmp_path / "own.toml"
    assert "\n" not in str(caught.value)
    return caught.value


# The published wording


def test_zero_shot_is_the_papers_prompt_character_by_character(task: Task) -> None:
    (message,) = prompts(task)[0].messages
    assert message == {
        "role": "user",
        "content": f"{ZERO}\n\nCooking考题0？\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n正确的选项是：",
    }


def test_two_shots_stand_in_file_order_before_the_question(task: Task) -> None:
    (message,) = prompts(task, shots=2)[1].messages
    options = "A. 甲\nB. 乙\nC. 丙\nD. 丁\n正确的选项是："
    assert message["content"] == (
        f"{FEW}\n\nCooking例题0？\n{options}A\n\nCooking例题1？\n{options}B\n\nCooking考题1？\n{options}"
    )


def test_the_english_template_asks_in_english(task: Task) -> None:
    (message,) = prompts(task, shots=1, template=load_template("m3ke-en/1"))[0].messages
    assert message["content"].startswith(
        "Choose the correct option from 'A', 'B', 'C' and 'D' for the question, following the examples below"
    )
    assert message["content"].endswith("D. 丁\nThe correct option is: ")
    assert "The correct option is: A\n\n" in message["content"]


def test_the_shipped_templates_are_known_by_name() -> None:
    assert template_names() == ("ceval/1", "cmmlu/1", "m3ke-en/1", "m3ke-zh/1", "mmlu/1")
    assert [load_template(name).name for name in template_names()] == list(template_names())


# Turns and the system message


def test_turns_give_each_example_as_a_question_and_an_answer(task: Task) -> None:
    messages = prompts(task, shots=2, fewshot=FewShot.TURNS)[0].messages
    options = "A. 甲\nB. 乙\nC. 丙\nD. 丁\n正确的选项是："
    assert messages == (
        {"role": "user", "content": f"{FEW}\n\nCooking例题0？\n{options}"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": f"Cooking例题1？\n{options}"},
        {"role": "assistant", "content": "B"},
        {"role": "user", "content": f"Cooking考题0？\n{options}"},
    )


def test_turns_without_examples_are_the_zero_shot_prompt(task: Task) -> None:
    assert prompts(task, fewshot=FewShot.TURNS) == prompts(task)


@pytest.mark.parametrize("fewshot", FewShot)
def test_a_system_message_comes_first_and_changes_nothing_else(task: Task, fewshot: FewShot) -> None:
    without = prompts(task, shots=2, fewshot=fewshot)[0].messages
    system = prompts(task, shots=2, fewshot=fewshot, system="只回答字母。")[0].messages
    assert system == ({"role": "system", "content": "只回答字母。"}, *without)


# Which examples


@pytest.mark.parametrize("shots", range(6))
def test_on_test_there_are_as_many_examples_as_asked_for(task: Task, shots: int) -> None:
    for prompt in prompts(task, shots=shots):
        assert (prompt.shots, prompt.dropped) == (shots, 0)
        assert [f"例题{n}" in text_of(prompt) for n in range(5)] == [n < shots for n in range(5)]


def test_on_dev_the_question_is_left_out_of_its_own_examples(task: Task) -> None:
    for asked, prompt in enumerate(prompts(task, Split.DEV, shots=5)):
        assert (prompt.shots, prompt.dropped) == (4, 0)
        assert [text_of(prompt).count(f"例题{n}？") for n in range(5)] == [1] * 5
        assert prompt.messages[-1]["content"].rpartition("\n\n")[2].startswith(f"Cooking例题{asked}？")


def test_on_dev_fewer_shots_are_filled_from_the_other_rows(task: Task) -> None:
    shown = [
        [n for n in range(5) if n != asked and f"例题{n}？" in text_of(prompt)]
        for asked, prompt in enumerate(prompts(task, Split.DEV, shots=2))
    ]
    assert shown == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


def test_a_test_question_with_a_dev_rows_id_keeps_that_row_as_an_example(task: Task) -> None:
    assert "例题0？" in text_of(prompts(task, shots=1)[0])  # both have id 0


@pytest.mark.parametrize(
    "same",
    ["水的沸点是？", "水 的 沸点是?", "　水的沸点是？\n", "水的沸点是﹖"],
    ids=["same", "ASCII", "blanks", "small"],
)
def test_an_example_that_is_the_question_itself_is_dropped_and_counted(tmp_path: Path, same: str) -> None:
    write_split(tmp_path, "dev", COOKING, [row(7, "别的？", "A"), row(8, same, "B"), row(9, "又一个？", "C")])
    write_split(tmp_path, "test", COOKING, [row(0, "水的沸点是？"), row(1, "水的熔点是？")])
    leaking, other = prompts(only_task(tmp_path), shots=2)
    assert (leaking.shots, leaking.dropped) == (1, 1)
    assert normalised(text_of(leaking)).count(normalised("水的沸点是？")) == 1
    assert (other.shots, other.dropped) == (2, 0)


def test_on_dev_a_row_with_the_same_text_under_another_id_is_dropped_too(tmp_path: Path) -> None:
    write_split(tmp_path, "dev", COOKING, [row(0, "Ｘ ＝ 1？", "A"), row(1, "x=1?", "B"), row(2, "y?", "C")])
    first, second, third = prompts(only_task(tmp_path), Split.DEV, shots=5)
    assert [(p.shots, p.dropped) for p in (first, second, third)] == [(1, 1), (1, 1), (2, 0)]


def test_when_every_example_is_dropped_the_prompt_is_the_zero_shot_one(tmp_path: Path) -> None:
    write_split(tmp_path, "dev", COOKING, [row(0, "同？", "A")])
    write_split(tmp_path, "test", COOKING, [row(0, "同？")])
    task = only_task(tmp_path)
    (few,) = prompts(task, shots=1)
    assert (few.shots, few.dropped) == (0, 1)
    assert few.messages == prompts(task)[0].messages


def test_rows_without_an_answer_are_no_examples(tmp_path: Path) -> None:
    write_split(tmp_path, "dev", COOKING, [row(0, "无？"), row(1, "有？", "D")])
    write_split(tmp_path, "test", COOKING, [row(0, "问？")])
    (prompt,) = prompts(only_task(tmp_path), shots=5)
    assert prompt.shots == 1
    assert "无？" not in text_of(prompt)


def test_no_prompt_of_m3ke_holds_its_question_twice(shared: Path) -> None:
    """3 dev rows are test rows too, and 105 test rows share their question with a dev row."""
    dropped = 0
    for task in load_suite(shared / "M3KE").tasks:
        prompter = Prompter(load_template("m3ke-zh/1"), task, Split.TEST, shots=5)
        pool = {normalised(example.question) for example in task.dev}
        for question in task.questions(Split.TEST):
            if normalised(question.question) in pool:
                prompt = prompter.prompt(question)
                dropped += prompt.dropped
                assert prompt.shots + prompt.dropped == 5
                starts = normalised(text_of(prompt)).split(normalised("正确的选项是："))
                assert sum(normalised(question.question) in part for part in starts) == 1
    assert dropped >= 105


# Foreign text is joined in, never formatted

HOSTILE = [
    "{question}",
    "{A.__class__}",
    "{0}",
    "{",
    "}}",
    "%s%n",
    "$x",
    "\\n",
    "{answer}",
    "正确的选项是：A",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_braces_and_format_strings_in_a_question_stay_as_they_are(tmp_path: Path, text: str) -> None:
    write_split(tmp_path, "dev", COOKING, [row(0, f"例{text}", "B", A=f"甲{text}")])
    write_split(tmp_path, "test", COOKING, [row(0, f"问{text}", D=f"丁{text}")])
    (prompt,) = prompts(only_task(tmp_path), shots=1)
    assert text_of(prompt) == (
        f"{FEW}\n\n例{text}\nA. 甲{text}\nB. 乙\nC. 丙\nD. 丁\n正确的选项是：B\n\n"
        f"问{text}\nA. 甲\nB. 乙\nC. 丙\nD. 丁{text}\n正确的选项是："
    )


# The user's own file


def test_a_users_file_is_a_template(tmp_path: Path, task: Task) -> None:
    (message,) = prompts(task, shots=1, template=own_template(tmp_path, OWN))[0].messages
    assert message["content"] == "F\n\nCooking例题0？|甲|乙|丙|丁|A!\n\nCooking考题0？|甲|乙|丙|丁|"


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert own_template(tmp_path, b"\xef\xbb\xbf" + OWN.encode()).name == "own/1"


def test_doubled_braces_in_a_template_are_braces(tmp_path: Path, task: Task) -> None:
    template = own_template(tmp_path, OWN.replace("{D}|", "{D}|{{A}}"))
    assert text_of(prompts(task, template=template)[0]).endswith("丁|{A}")


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ('zero_shot = "Z"\n', "", "zero_shot", "missing"),
        ("zero_shot", "zero_shoot", "zero_shoot", "did you mean 'zero_shot'?"),
        ('few_shot = "F"', "few_shot = 5", "few_shot", "must be a string"),
        ("{question}|", "{qestion}|", "question", "unknown place {qestion}"),
        ("{question}|", "{question!r}|", "question", "unknown place {question}"),
        ("{question}|", "{question:>9}|", "question", "unknown place {question}"),
        ("{question}|", "{question.answer}|", "question", "unknown place {question.answer}"),
        ("{question}|", "{}|{question}|", "question", "unknown place {}"),
        ("{C}|", "", "question", "{C} is missing"),
        ("{C}|", "{C|", "question", "write a brace itself twice"),
        ("{C}|", "{C}}|", "question", "write a brace itself twice"),
        ("{answer}!", "!", "answer", "{answer} is missing"),
        ("{answer}!", "{A}{answer}", "answer", "unknown place {A}"),
    ],
)
def test_a_wrong_template_names_the_file_and_the_field(
    tmp_path: Path, old: str, new: str, field: str, words: str
) -> None:
    assert old in OWN
    error = refusal(tmp_path, OWN.replace(old, new, 1))
    assert error.field == field
    assert words in str(error)


def test_a_template_in_gbk_is_refused_with_its_byte(tmp_path: Path) -> None:
    text = OWN.replace('"Z"', '"请"').encode("gbk")
    error = refusal(tmp_path, text)
    assert f"byte {text.index('请'.encode('gbk'))}" in str(error)
    assert "UTF-8" in str(error)


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    assert "line 2" in str(refusal(tmp_path, "name = 'x'\nquestion = \n"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("m3ke-zh/2", "did you mean 'm3ke-zh/1'?"),
        ("zh", "known are ceval/1, cmmlu/1, m3ke-en/1, m3ke-zh/1, mmlu/1"),
        ("../secret", "known are"),
        ("~nobody-of-this-name/x.toml", "known are"),
        ("x" * 5000, "known are"),
        ("a\0b", "known are"),
    ],
)
def test_an_unknown_template_is_one_line_that_names_the_known_ones(name: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        load_template(name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_folder_is_no_template(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no template"):
        load_template(str(tmp_path))
