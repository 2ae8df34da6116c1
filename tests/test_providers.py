"""The shipped provider files against what is known, and where files of one's own are found."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, ExitCode, UsageError
from m3ke_async.profile import EndedModel, Hosting, LimitHeaders, TokenParameter, Window
from m3ke_async.profile_file import read_profile
from m3ke_async.providers import load_profile, parse_model, profile_names
from m3ke_async.rules import Certainty
from tests.command import m3ke

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_file_is_right(name: str) -> None:
    profile = load_profile(name)

    assert profile.name == name
    assert profile.title
    for url in (profile.base_url, *profile.also):
        assert url is None or (url.startswith(("https://", "http://127.0.0.1")) and not url.endswith("/"))
    if profile.hosting is Hosting.HOSTED and name != "custom":
        assert profile.key_required
        assert profile.key_env


def test_no_source_is_named_for_nothing() -> None:
    for path in asset("providers").glob("*.toml"):
        text = path.read_text("utf-8")
        if "[sources]" not in text:
            continue
        sources = text.split("[sources]")[1].split("\n[")[0]
        names = [line.split(" = ")[0] for line in sources.splitlines() if line and line[0] != "#"]
        assert names
        for name in names:
            assert f'source = "{name}"' in text, f"{path.name}: {name}"


def test_openai_in_full() -> None:
    openai = load_profile("openai")

    assert openai.base_url == "https://api.openai.com/v1"
    assert openai.chat_path == "/chat/completions"
    assert (openai.key_env, openai.key_required) == (("OPENAI_API_KEY",), True)
    assert (openai.key_header, openai.key_prefix) == ("Authorization", "Bearer ")
    assert openai.token_parameter is TokenParameter.MAX_COMPLETION_TOKENS
    assert openai.filtered_finish == ("content_filter",)
    assert openai.request_headers == LimitHeaders(
        Window.MINUTE,
        ("x-ratelimit-limit-requests",),
        ("x-ratelimit-remaining-requests",),
        ("x-ratelimit-reset-requests",),
    )
    assert openai.end_of("gpt-3.5-turbo") == EndedModel(
        "gpt-3.5-turbo",
        date(2026, 10, 23),
        "gpt-5.6-terra",
        ("azure-openai", "openrouter", "litellm-proxy"),
        Certainty.VERIFIED,
        "https://developers.openai.com/api/docs/deprecations",
    )
    assert openai.end_of("gpt-5.6-terra") is None
    assert openai.prices == ()


def test_a_provider_that_each_user_has_another_address_of_shows_what_one_looks_like() -> None:
    ran = m3ke("plan", "azure-openai/m", "--data", "sample")
    assert ran.code == ExitCode.USAGE
    assert "such as https://RESOURCE.openai.azure.com/openai/v1 or https://RESOURCE" in ran.error
    assert "api-version=" in ran.error


def test_azure_has_its_own_header_for_the_key() -> None:
    azure = load_profile("azure-openai")
    assert (azure.base_url, azure.key_header, azure.key_prefix) == (None, "api-key", "")


def test_groqs_request_headers_are_those_of_a_day() -> None:
    groq = load_profile("groq")
    assert (groq.request_headers.window, groq.token_headers.window) == (Window.DAY, Window.MINUTE)


def test_a_server_of_ones_own_gets_no_key_of_a_hub() -> None:
    assert load_profile("tgi").key_env == ()


# --- provider/model --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o")),
        ("siliconflow/Qwen/Qwen3-8B", ("siliconflow", "Qwen/Qwen3-8B")),
        ("ollama/qwen3:8b", ("ollama", "qwen3:8b")),
        ("local/./models/a.b.gguf", ("local", "./models/a.b.gguf")),
        (" custom/模型 ", ("custom", "模型")),
    ],
)
def test_a_model_is_what_follows_the_first_slash(text: str, parts: tuple[str, str]) -> None:
    assert parse_model(text) == parts


@pytest.mark.parametrize("text", ["", "gpt-4o", "openai", "openai/", "/gpt-4o", "/"])
def test_a_model_without_provider_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"provider/model.*custom/NAME --base-url URL"):
        parse_model(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("opneai/x", "openai"),
        ("OpenAI/x", "openai"),
        ("gemini/x", "gemini-compat"),
        ("doubao/x", "volcengine-ark"),
        ("qwen/x", "dashscope"),
        ("kimi/x", "moonshot"),
    ],
)
def test_an_unknown_provider_is_refused_with_the_nearest_names(text: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean .*{near}.*custom/NAME --base-url URL"):
        parse_model(text)


@pytest.mark.parametrize("name", ["../pyproject", "_general", "nowhere", "", "openai.toml"])
def test_a_name_is_never_used_as_a_path(name: str) -> None:
    with pytest.raises(UsageError, match="no provider"):
        load_profile(name)


# --- Files of one's own ----------------------------------------------------------------------

MINE = 'title = "Mine"\nhosting = "hosted"\n[address]\nbase_url = "https://mine.example/v1"\n'


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an empty folder for provider files; the user's is `tmp_path/"config"`."""
    (tmp_path / "work" / "providers").mkdir(parents=True)
    (tmp_path / "config" / "providers").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("M3KE_CONFIG", str(tmp_path / "config"))
    return tmp_path / "work"


@pytest.mark.parametrize("folder", ["work", "config"])
def test_a_file_beside_the_work_or_in_the_users_folder_is_a_provider(
    work: Path, tmp_path: Path, folder: str
) -> None:
    shipped = set(profile_names())
    (tmp_path / folder / "providers" / "mine.toml").write_text(MINE, "utf-8")
    assert set(profile_names()) == shipped | {"mine"}
    assert parse_model("mine/m") == ("mine", "m")
    mine = load_profile("mine")
    assert (mine.title, mine.base_url) == ("Mine", "https://mine.example/v1")
    assert mine.file is not None
    assert mine.file.resolve() == tmp_path / folder / "providers" / "mine.toml"
    assert any(rule.by_status_alone for rule in mine.rules)  # the general rules hold for it too


@pytest.mark.parametrize("name", ["mine", "openai"])
def test_two_providers_of_one_name_are_refused_and_both_files_named(
    work: Path, tmp_path: Path, name: str
) -> None:
    for folder in ("work", "config"):
        (tmp_path / folder / "providers" / f"{name}.toml").write_text(MINE + f"# of {folder}\n", "utf-8")
    for find in (lambda: load_profile(name), lambda: parse_model(f"{name}/m")):
        with pytest.raises(DataError, match=rf"{name}\.toml: there is another provider of this name, .*"):
            find()
    assert load_profile("vllm").name == "vllm"  # others are not concerned


def test_a_file_cannot_take_the_name_of_a_shipped_provider(work: Path) -> None:
    (work / "providers" / "openai.toml").write_text(MINE, "utf-8")
    with pytest.raises(DataError, match="rename or delete one"):
        load_profile("openai")


def test_names_that_differ_only_in_case_are_one_name(work: Path) -> None:
    for name in ("Mine.toml", "mine.toml"):
        (work / "providers" / name).write_text(MINE, "utf-8")
    if len(list((work / "providers").iterdir())) < 2:
        pytest.skip("this file system does not tell upper from lower case")
    with pytest.raises(DataError, match=r"another provider of this name, .*mine\.toml"):
        load_profile("Mine")


def test_a_copy_of_a_shipped_file_is_the_same_provider(work: Path) -> None:
    content = asset("providers", "openai.toml").read_bytes()
    (work / "providers" / "openai.toml").write_bytes(content)
    assert load_profile("openai").title == "OpenAI"
    assert profile_names().count("openai") == 1


def test_the_shipped_folder_itself_beside_the_work_is_not_another(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(asset())
    assert load_profile("openai").title == "OpenAI"


def test_files_that_begin_with_an_underscore_and_other_files_are_no_providers(work: Path) -> None:
    before = profile_names()
    for name in ("_general.toml", "_mine.toml", "notes.txt"):
        (work / "providers" / name).write_text("rubbish", "utf-8")
    assert profile_names() == before
    assert (
        load_profile("custom").rules
        == read_profile(asset("providers", "custom.toml"), general=asset("providers", "_general.toml")).rules
    )


def test_a_wrong_file_concerns_only_its_own_provider(work: Path) -> None:
    (work / "providers" / "mine.toml").write_text("tilte = 'X'", "utf-8")
    assert load_profile("openai").name == "openai"
    with pytest.raises(DataError, match=r"mine\.toml, field 'title': is missing"):
        load_profile("mine")


def test_a_wrong_file_does_not_stand_before_another_names_suggestions(work: Path) -> None:
    (work / "providers" / "mine.toml").write_text("title = '", "utf-8")
    with pytest.raises(UsageError, match="did you mean openai"):
        load_profile("OpenAI")


@pytest.mark.parametrize("text", ["sk-abcdefghijklmnopqrstuvwx", "sk-abcdefghijklmnopqrstuvwx/m"])
def test_a_key_in_the_place_of_a_model_is_not_shown(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_model(text)
    assert "abcdefghijklmnop" not in str(caught.value)


def test_a_name_near_ones_own_is_suggested(work: Path) -> None:
    (work / "providers" / "Mine.toml").write_text(MINE, "utf-8")
    with pytest.raises(UsageError, match="did you mean Mine"):
        parse_model("mine/m")
