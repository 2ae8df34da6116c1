"""What it takes to find the letter in one reply, by kind of reply.

python -m bench.reading --replies FILE
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from bench.measure import machine
from m3ke_async.choice import extract_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Said = tuple[str, Mapping[str, str] | None, str | None]

QUESTION = "中华人民共和国的首都是"
OPTIONS = {"A": "上海", "B": "北京", "C": "广州", "D": "西安"}
#: As chat models answer a question like this one, from a letter to a short explanation.
USUAL = (
    *("B", "B。", "B. 北京", "答案：B", "答案：B。", "答案是B。", "正确答案是B", "正确答案是：B"),
    *("正确答案是B. 北京。", "选B", "选择B", "我选择B。", "故选B。", "本题选B。", "应选B项", "故答案为：B"),
    *("【答案】B", "最终答案：B", "**B**", "**B. 北京**", "答案：**B**", "### 答案：B", "(B)", "（B）北京"),
    *("B) 北京", "B：北京", "选项B", "北京", "答案是北京。", "B是正确答案", "选项B是正确的。"),
    *("The answer is B.", "The correct answer is B. 北京", "Answer: B", r"$\boxed{B}$", "<answer>B</answer>"),
    '{"answer": "B"}',
    "正确答案是：B. 北京。中华人民共和国的首都是北京市。",
    "正确答案是 **B. 北京**。\n\n**解析：**\n中华人民共和国的首都是北京。",
    "B\n\n解析：中华人民共和国的首都是北京，上海是直辖市。",
    "答案：B\n解析：北京是中华人民共和国的首都。",
    "【答案】B\n【解析】首都为北京。",
    "首先，中华人民共和国成立于1949年，定都北京。因此，正确答案是B。",
    "根据题意，首都是北京，所以选择B。",
    "A是直辖市，B是首都，C是广东省会，D是陕西省会。因此选B。",
)
THOUGHTS = "<think>" + "首都是一个国家的政治中心，上海是经济中心，先看A，再看B。" * 70 + "</think>\n答案：B"


@click.command(help=__doc__)
@click.option(
    "--replies",
    "files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="JSON lines with reply (or raw), options and question; the last two may be missing.",
)
@click.option("--repeats", type=click.IntRange(1), default=25, show_default=True, help="Tries of each reply.")
def main(files: Sequence[Path], repeats: int) -> None:
    """Print a table of the times, in microseconds, the least of all tries for each reply."""
    usual = [(reply, OPTIONS, QUESTION) for reply in USUAL]
    groups: dict[str, Iterable[Said]] = {
        f"the {len(USUAL)} usual replies in bench/reading.py": usual,
        f"{len(THOUGHTS):,} characters of thoughts and an answer": [(THOUGHTS, OPTIONS, QUESTION)],
    } | {file.name: _read(file) for file in files}
    print("| replies | median | mean | the slowest |\n|---|--:|--:|--:|")
    for name, said in groups.items():
        times = [_least(reply, repeats) for reply in said]
        print(
            f"| {name} | {statistics.median(times):.0f} | {statistics.mean(times):.0f} | {max(times):.0f} |"
        )
    print(f"\nMicroseconds; {machine()}", file=sys.stderr)


def _read(file: Path) -> Iterable[Said]:
    for line in file.read_bytes().splitlines():
        record = orjson.loads(line)
        yield record.get("raw") or record.get("reply") or "", record.get("options"), record.get("question")


def _least(said: Said, repeats: int) -> float:
    extract_choice(*said)  # compiles what it needs
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        extract_choice(*said)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


if __name__ == "__main__":
    main()
