"""`m3ke providers`: everything that a file says, and how well it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.assets import asset
from m3ke_async.errors import ExitCode
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.report.providers import profile_json, profile_lines, table_lines
from tests.command import m3ke

if TYPE_CHECKING:
    from pathlib import Path

#: What the documentation shows a file with everything to be.
EXAMPLE = asset("docs", "providers.md").read_text("utf-8").split("```toml\n")[1].split("```")[0]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "providers").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_documented_example_is_a_provider_when_it_is_written_down(work: Path) -> None:
    (work / "providers" / "example.toml").write_text(EXAMPLE, "utf-8")
    ran = m3ke("providers", "example")
    assert ran.code == ExitCode.COMPLETE
    lines = ran.out.splitlines()
    for line in (
        "example: Example (hosted)",
        "file        providers/example.toml",
        "protocol    chat or completions",
        "address     https://api.example.org/v1  [verified, 1]",
        "            https://api.example.cn/v1  [verified, 1]",
        "            such as https://NAME.example.org/v1  [verified, 1]",
        "key         EXAMPLE_API_KEY (needed), as Authorization: Bearer ...  [recalled]",
        "in flight   5  [recalled]",
        "parameters  the limit of tokens is max_tokens  [recalled]",
        "            takes temperature, stop  [recalled]",
        "            fields that it does not know: ignored  [recalled]",
        "constraint  structured_outputs.choice, then response_format.json_schema  [recalled]",
        "logprobs    yes, of 20 tokens at a position  [recalled]",
        "usage       cached in prompt_cache_hit_tokens  [recalled]",
        (
            "batch       files at /batches, 50,000 requests, 200,000,000 bytes, within 24 hours, 50% off, "
            "as of 2026-11-29  [recalled]"
        ),
        (
            'thinking    example-r*: on by {"thinking": {"type": "enabled"}}, '
            'off by {"thinking": {"type": "disabled"}}  [secondary]'
        ),
        "ends        example-1 on 2026-10-23, instead example-2, perhaps still at azure-openai  [recalled]",
        "price       example-2: 0.5 in, 1.5 out, USD a million tokens (2026-11-29)  [recalled, 1]",
        "rule        rate_limit: status 429, code example_busy  [verified, 1]",
        "source      1 https://example.org/docs/errors (2026-11-29)",
    ):
        assert line in lines
    (table,) = m3ke("providers", "example", "--json").json
    assert table["file"] == "providers/example.toml"
    assert table["thinking"][0]["off"] == {"thinking": {"type": "disabled"}}
    assert table["ended"][0]["on"] == "2026-10-23"
    assert {"about": "address", "certainty": "verified"}.items() <= table["facts"][0].items()
    assert "example " in m3ke("providers").out


@pytest.mark.parametrize("name", profile_names())
def test_every_source_of_a_shipped_file_is_shown_once(name: str) -> None:
    profile = load_profile(name)
    text = "\n".join(profile_lines(profile))
    tables = (profile.facts, profile.thinking, profile.ended, profile.prices, profile.rules)
    for source in {one.source for table in tables for one in table if one.source}:
        assert text.count(f" {source}\n") + text.endswith(f" {source}") == 1
    assert profile_json(profile)["rules"][0]["certainty"]


def test_the_table_has_room_for_every_name() -> None:
    profiles = [load_profile(name) for name in profile_names()]
    head, *rows, _, _ = table_lines(profiles)
    assert len(rows) == len(profiles)
    column = head.index("address")
    assert all(row[column - 1] == " " and row[column] != " " for row in rows)


def test_one_wrong_file_does_not_hide_the_other_providers(work: Path) -> None:
    whole = m3ke("providers")
    assert whole.code == 0
    (work / "providers" / "mine.toml").write_text('title = "Mine"\nhosting = "hosted"\nkee = {}\n', "utf-8")
    (work / "providers" / "openai.toml").write_text('title = "Mine"\nhosting = "hosted"\n', "utf-8")
    ran = m3ke("providers")
    assert ran.code == ExitCode.USAGE
    assert [line for line in whole.out.split("\n") if not line.startswith("openai ")] == ran.out.split("\n")
    wrong, twice = ran.err.splitlines()
    assert "mine.toml, field 'kee': is no field here" in wrong
    assert "openai.toml: there is another provider of this name" in twice
    listed = m3ke("providers", "--json")
    assert (listed.code, listed.err) == (ExitCode.USAGE, ran.err)
    assert len(listed.json) == len(ran.out.splitlines()) - 3


def test_a_wrong_file_of_ones_own_is_one_line(work: Path) -> None:
    (work / "providers" / "mine.toml").write_text('title = "Mine"\nhosting = "hosted"\nkee = {}\n', "utf-8")
    ran = m3ke("providers", "mine")
    assert ran.code == ExitCode.USAGE
    assert "mine.toml, field 'kee': is no field here; did you mean key?" in ran.error
    assert m3ke("run", "mine/m", "--data", "sample").error == ran.error
