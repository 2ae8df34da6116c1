"""The command to be copied goes on just where the interrupted one was."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from m3ke_async.again import command_again

NASTY = ["run", "openai/m", "--system", "don't  ask\n\twhy \\ 为什么", "--name", "a b;$(c)`d`"]


def test_a_shell_reads_back_what_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/m3ke", *NASTY])
    command = command_again()
    assert command.startswith("m3ke run openai/m --system ")
    assert command.isprintable()
    shown = command.replace("m3ke ", r"printf '%s\0' ", 1)
    said = subprocess.run(["bash", "-c", shown], capture_output=True, check=True).stdout.decode()
    assert said.split("\0")[:-1] == NASTY


def test_where_the_module_was_called_the_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/m3ke_async/__main__.py", "plan"])
    monkeypatch.setattr("sys.executable", "/usr/bin/python3")
    assert command_again() == "/usr/bin/python3 -m m3ke_async plan"


@pytest.mark.parametrize(
    "url",
    ["https://user:SENTINEL1@h/v1", "https://h/v1?api-key=SENTINEL1", "https://h/v1?x=1&token=SENTINEL1"],
)
def test_keys_are_in_no_command_that_is_shown(url: str) -> None:
    command = command_again(["run", "openai/m", "--base-url", url])
    assert "SENTINEL1" not in command
    assert "[key]" in command
    assert shlex.split(command)[-1].startswith("https://")
