"""The documents say what is true: help, examples, links, dependencies.

    ```sh run        a shell block that is run offline, against a server on this machine
    ```python run    a script that is run in the same way
    ```sh            commands that need the network: their options are checked, nothing is sent
    ```toml config   a settings file
    ```toml template a prompt template
    <!-- help: m3ke run -->   the help of the command stands in the block below

`python -m tests.test_docs` writes the help anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
import pytest
from click.testing import CliRunner

from m3ke_async import __version__
from m3ke_async.answer import Answer
from m3ke_async.cli import cli
from m3ke_async.errors import ExitCode
from m3ke_async.prompt import load_template
from m3ke_async.record_form import _FIELDS
from m3ke_async.request import Outcome
from m3ke_async.settings_checks import make_settings, read_config
from m3ke_async.suite import Split
from m3ke_async.tally import Ledger
from tests.server import completion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
#: Pairs that say the same in two languages.
TRANSLATED = {"README.md": "README.zh-CN.md", "docs/usage.md": "docs/usage.zh-CN.md"}
USAGE = ("docs/usage.md", TRANSLATED["docs/usage.md"])
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
)
#: Documents whose examples are checked.
GUIDES = [name for pair in TRANSLATED.items() for name in pair]
#: What click makes of a terminal that has 100 columns or more.
WIDTH = 98
#: Commands whose options are those of `run`.
LIKE_RUN = ("m3ke plan", "m3ke check", "m3ke batch submit", "m3ke batch write")

_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HELP = re.compile(r"(<!-- help: (m3ke[a-z ]*) -->\n```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"http://127\.0\.0\.1:800\d/v1")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def text(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def blocks(document: str, kind: str) -> list[str]:
    return [block for name, block in _BLOCK.findall(text(document)) if name == kind]


def examples(kind: str, documents: Iterable[str] = GUIDES) -> list[Any]:
    return [
        pytest.param(block, id=f"{document}-{number}")
        for document in documents
        for number, block in enumerate(blocks(document, kind), 1)
    ]


# -- help ------------------------------------------------------------------------------


def commands(group: click.Group = cli, name: str = "m3ke") -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name."""
    yield name, group
    for part, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {part}")
        else:
            yield f"{name} {part}", command


def help_of(name: str) -> str:
    """What `--help` shows; without the options where they are those of `run`."""
    arguments = [*name.split()[1:], "--help"]
    shown = CliRunner().invoke(cli, arguments, prog_name="m3ke", terminal_width=WIDTH).output
    return shown.split("\nOptions:")[0] if name in LIKE_RUN else shown


def with_help(document: str) -> str:
    return _HELP.sub(lambda found: found[1] + help_of(found[2]) + found[4], document)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_to_be_installed_can_be(document: str) -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = re.findall(r"pip install '\.\[(\w+)\]'", text(document))
    assert set(extras) <= set(project["optional-dependencies"])
    assert f"{project['name']}[" not in text(document), (
        "no registry has it: pip install '.[...]' in the clone"
    )


@pytest.mark.parametrize("document", USAGE)
def test_the_help_in_the_documents_is_the_commands_own(document: str) -> None:
    assert with_help(text(document)) == text(document), "write it anew: python -m tests.test_docs"


@pytest.mark.parametrize("document", USAGE)
def test_every_command_stands_in_the_reference(document: str) -> None:
    assert sorted(found[2] for found in _HELP.finditer(text(document))) == sorted(dict(commands()))


@pytest.mark.parametrize("name", LIKE_RUN)
def test_plan_and_check_take_the_options_of_run(name: str) -> None:
    options = {known: [parameter.opts for parameter in command.params] for known, command in commands()}
    own = [["run"], ["file"]] if name.startswith("m3ke batch") else [["model"]]
    assert [one for one in options[name] if one not in own] == options["m3ke run"][1:]


@pytest.mark.parametrize("document", USAGE)
def test_the_table_of_exit_codes_is_complete(document: str) -> None:
    rows = re.findall(r"^\| (\d+) \| ([A-Z]+) \|", text(document), re.MULTILINE)
    assert rows == [(str(int(code)), code.name) for code in ExitCode]


@pytest.mark.parametrize("document", USAGE)
def test_every_option_of_a_run_is_explained_outside_the_help(document: str) -> None:
    explained = _HELP.sub("", text(document))
    options = [option for parameter in cli.commands["run"].params for option in parameter.opts]
    assert [option for option in options if not re.search(rf"{option}(?![\w-])", explained)] == []


# -- examples --------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    """Answers every question with B."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "my-model"}, {"id": "Qwen3-8B"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(completion({"role": "assistant", "content": "B"}))

    def _send(self, value: dict[str, Any]) -> None:
        body = orjson.dumps(value)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 512  # a run opens many connections at once


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server on this machine."""
    with _Server(("127.0.0.1", 0), _Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One where `m3ke` is this checkout, and which holds no key and no proxy."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "m3ke"
    command.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from m3ke_async.cli import main; main()' \"$@\"\n"
    )
    command.chmod(0o755)
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
    }


def check_run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="the shell examples are for a POSIX shell")
@pytest.mark.parametrize("block", examples("sh run"))
def test_shell_examples_run(block: str, server: str, tmp_path: Path, environment: dict[str, str]) -> None:
    check_run(["sh", "-e", "-c", _ADDRESS.sub(server, block)], tmp_path, environment)


@pytest.mark.parametrize("block", examples("python run"))
def test_python_examples_run(block: str, server: str, tmp_path: Path, environment: dict[str, str]) -> None:
    check_run([sys.executable, "-c", _ADDRESS.sub(server, block)], tmp_path, environment)


def check_command(words: list[str]) -> None:
    """A command of m3ke takes these words; nothing is run."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        # A sweep's file may stand in the place of its `run`.
        name, words = (words[0], words[1:]) if words[0] in command.commands else ("run", words)
        command = command.commands[name]
    command.make_context("m3ke", words)


@pytest.mark.parametrize("block", examples("sh", DOCUMENTS))
def test_commands_that_are_not_run_exist_with_these_options(block: str) -> None:
    makefile = text("Makefile")
    for line in block.replace("\\\n", " ").splitlines():
        first, *rest = shlex.split(line) or [""]
        match first:
            case "m3ke":
                check_command(rest)
            case "make":
                assert f"\n{rest[0]}:" in makefile
            case "export" | "":
                pass
            case _:
                pytest.fail(f"nothing checks the command {line!r}")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_an_overview_exist_with_these_options(document: str) -> None:
    for line in re.findall(r"^    m3ke (.+?)(?:  .*)?$", text(document), re.MULTILINE):
        words = shlex.split(re.sub(r"[\[\]]", "", line))
        if "..." in words:
            assert isinstance(cli.commands[words[0]], click.Group)
            continue
        for name in words[1].split("|") if words[0] == "data" else words[1:2] or [""]:
            with suppress(click.MissingParameter):  # an overview need not name all
                check_command([words[0], *([name] if name else []), *words[2:]])


@pytest.mark.parametrize("block", examples("toml config"))
def test_settings_files_are_read(block: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(block, encoding="utf-8")
    options = read_config(path)
    model = options.pop("model")
    assert isinstance(model, str)
    make_settings(model, options)


@pytest.mark.parametrize("block", examples("toml template"))
def test_templates_are_read(block: str, tmp_path: Path) -> None:
    path = tmp_path / "template.toml"
    path.write_text(block, encoding="utf-8")
    load_template(str(path))


def test_every_block_has_a_known_kind() -> None:
    known = {"sh", "sh run", "python run", "toml config", "toml template", "text"}
    assert {kind for document in GUIDES for kind, _ in _BLOCK.findall(text(document))} <= known


# -- two languages, links, dependencies --------------------------------------------------


@pytest.mark.parametrize(("english", "chinese"), TRANSLATED.items())
def test_both_languages_have_the_same_examples_in_the_same_order(english: str, chinese: str) -> None:
    found = [_BLOCK.findall(text(document)) for document in (english, chinese)]
    assert found[0] == found[1]


@pytest.mark.parametrize(("english", "chinese"), TRANSLATED.items())
def test_both_languages_have_the_same_sections_and_tables(english: str, chinese: str) -> None:
    for mark in (r"^#+ ", r"^\|", r"^- \*\*", r"^\d\. \*\*"):
        counts = [len(re.findall(mark, text(document), re.MULTILINE)) for document in (english, chinese)]
        assert counts[0] == counts[1], mark


@pytest.mark.parametrize("chinese", TRANSLATED.values())
def test_the_chinese_is_chinese(chinese: str) -> None:
    prose = _BLOCK.sub("", text(chinese))
    assert len(_CHINESE.findall(prose)) > 1000


def test_readme_has_seven_bullets_and_three_sentences_first() -> None:
    readme = text("README.md")
    different = readme.split("\n## What is different\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^- \*\*", different, re.MULTILINE)) == 7
    problem = readme.split("\n## ")[0].strip().split("\n\n")[-1]
    assert len(re.findall(r"\.(?:\s|$)", problem)) == 3


def anchor(heading: str) -> str:
    """The name that a heading gets in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_internal_links_lead_somewhere(document: str) -> None:
    broken = []
    for link in _LINK.findall(_BLOCK.sub("", text(document))):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, part = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        if not target.exists() or (
            part and part not in map(anchor, _HEADING.findall(target.read_text("utf-8")))
        ):
            broken.append(link)
    assert broken == []


def requirements() -> list[str]:
    """Names of everything that pyproject.toml asks for."""
    table = tomllib.loads(text("pyproject.toml"))
    project = table["project"]
    lines = [
        *table["build-system"]["requires"],
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
        *table["dependency-groups"]["dev"],
    ]
    return sorted({found[0] for line in lines if (found := re.match(r"[\w.-]+", line))})


def test_every_dependency_has_its_reason_and_nothing_else_is_listed() -> None:
    listed = re.findall(r"^\| `([\w.-]+)` \|(.+)\|$", text("docs/dependencies.md"), re.MULTILINE)
    assert sorted(name for name, _ in listed) == requirements()
    assert [name for name, reason in listed if len(reason) < 60] == []


def test_dependencies_are_listed_in_order() -> None:
    tables = re.split(r"^\|---.*$", text("docs/dependencies.md"), flags=re.MULTILINE)[1:]
    for table in tables:
        names = re.findall(r"^\| `([\w.-]+)` \|", table.split("\n\n")[0], re.MULTILINE)
        assert all(first < second for first, second in pairwise(names))


def fields_in(heading: str) -> set[str]:
    """Names in the first column of the first table below a heading of docs/results.md."""
    part = text("docs/results.md").partition(f"\n{heading}\n")[2]
    rows = re.search(r"(?:^\|.*\n)+", part, re.MULTILINE)
    assert rows is not None
    return {name for row in rows[0].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_field_of_a_run_is_described() -> None:
    assert fields_in("## run.json") == {*_FIELDS, "version", "stopped", "merged", "versions", "written_at"}
    assert fields_in("The ledger:") == Ledger.__dataclass_fields__.keys()
    line = Answer("t", Split.DEV, 0, "00", Outcome.FAILED, rotation=0, sample=0, letters=(1, 0, 0, 0))
    assert fields_in("## answers.jsonl") == line.to_json().keys()


def test_the_changelog_tells_of_this_version() -> None:
    assert re.search(rf"^## {re.escape(__version__)}$", text("CHANGELOG.md"), re.MULTILINE)


if __name__ == "__main__":
    for guide in USAGE:
        (ROOT / guide).write_text(with_help(text(guide)), encoding="utf-8")
