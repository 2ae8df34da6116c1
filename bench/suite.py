"""Suites of made-up questions in M3KE's layout, of any size, and the prompts they become.

    python -m bench.suite FOLDER --questions 20122 --tasks 71

Every text differs from every other one, and lengths are spread much as M3KE's: a zero-shot
prompt has about 280 bytes in the median, and 300 in the mean. The same call writes the same files.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

#: As M3KE has.
TASKS = 71

# fmt: off
_WORDS = (
    "水的沸点", "三角形", "细胞核", "民法典", "长江流域", "通货膨胀", "唐代诗人", "电磁感应", "氧化还原",
    "数列求和", "光合作用", "社会契约", "供求关系", "板块运动", "免疫系统", "二次函数", "丝绸之路",
    "货币政策", "遗传密码", "离散变量", "热力学定律", "行政诉讼", "语言习得", "审计证据", "牛顿力学",
    "生态平衡", "宪法原则", "神经冲动", "机会成本", "古典音乐",
)
_PHRASES = (
    "与之密切相关", "在课本中有明确的定义", "不受外界条件影响", "随时间而变化", "由多种因素共同决定",
    "只适用于特殊情形", "被认为是这一领域的基础", "常与相近的概念混淆", "可以通过实验加以验证",
    "至今仍有不同的看法",
)
# fmt: on


def write_suite(folder: Path, *, questions: int, tasks: int = TASKS) -> Path:
    """Write `dev/` (five labelled rows a task) and `test/` (unlabelled), row by row.

    Args:
        folder: to be made.
        questions: rows of the test split, spread evenly over the tasks.
        tasks: files in each split; never more than there are questions.

    Returns:
        The folder.
    """
    rng = random.Random(questions)  # noqa: S311 - makes texts, guards nothing
    tasks = min(tasks, questions)
    for split in ("dev", "test"):
        (folder / split).mkdir(parents=True, exist_ok=True)
    for task in range(tasks):
        name = f"Subject {task:04}-Other-Other.jsonl"
        with (folder / "dev" / name).open("wb") as dev:
            for row in range(5):
                dev.write(_row(rng, row, f"例{task}之{row}", "ABCDA"[row]))
        with (folder / "test" / name).open("wb") as test:
            for row, number in enumerate(range(task, questions, tasks)):
                test.write(_row(rng, row, f"题{number}", ""))
    return folder


def _row(rng: random.Random, id_: int, mark: str, answer: str) -> bytes:
    length = min(7, int(rng.lognormvariate(0.3, 0.7)))
    stem = "，".join(rng.choice(_WORDS) + rng.choice(_PHRASES) for _ in range(length))
    table = {"id": id_, "question": f"（{mark}）{stem}。关于{rng.choice(_WORDS)}，下列说法正确的是（　）"}
    for letter in "ABCD":
        table[letter] = rng.choice(_WORDS) + (rng.choice(_PHRASES) if length > 2 else "")
    return orjson.dumps({**table, "answer": answer}) + b"\n"


def prompts(folder: Path) -> Iterator[str]:
    """The zero-shot prompts of the test split, the same texts that `m3ke run` sends."""
    with (ROOT / "data" / "templates" / "m3ke-zh-1.toml").open("rb") as file:
        template = tomllib.load(file)
    for path in sorted((folder / "test").glob("*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                yield f"{template['zero_shot']}\n\n{template['question'].format(**orjson.loads(line))}"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--questions", default=2000, show_default=True, help="Rows of the test split.")
@click.option("--tasks", default=TASKS, show_default=True, help="Files in each split.")
def main(folder: Path, questions: int, tasks: int) -> None:
    """Write a suite of made-up questions into FOLDER."""
    write_suite(folder, questions=questions, tasks=tasks)


if __name__ == "__main__":
    main()
