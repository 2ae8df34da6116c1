from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import DataError, UsageError
from m3ke_async.prompt import FewShot
from m3ke_async.settings import RunOptions, RunSettings
from m3ke_async.settings_checks import make_settings, read_config
from m3ke_async.shard import Shard
from m3ke_async.suite import Split
from m3ke_async.tally import Budget, Price

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-test-SENTINEL0123456789abcdef"


def refusal(**options: object) -> str:
    with pytest.raises(UsageError) as caught:
        make_settings("vllm/m", options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def config(tmp_path: Path, text: str | bytes) -> dict[str, object]:
    path = tmp_path / "run.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(path)


def config_error(tmp_path: Path, text: str | bytes) -> DataError:
    with pytest.raises(DataError) as caught:
        config(tmp_path, text)
    assert caught.value.file == tmp_path / "run.toml"
    assert "\n" not in str(caught.value)
    return caught.value


# Defaults and values


def test_the_defaults_are_those_of_the_papers_protocol() -> None:
    settings = make_settings("vllm/m", {})
    assert (settings.split, settings.shots, settings.template) == (Split.DEV, 0, None)
    assert (settings.temperature, settings.max_tokens, settings.concurrency) == (0.0, 64, None)
    assert (settings.fewshot, settings.system, settings.tasks, settings.limit) == (
        FewShot.MESSAGE,
        None,
        (),
        None,
    )
    assert settings.budget == Budget()


def test_every_field_can_be_given_and_nothing_else() -> None:
    assert set(RunOptions.__annotations__) | {"model", "suite"} == {
        field.name for field in fields(RunSettings)
    }


def test_every_option_is_taken_as_given() -> None:
    given: dict[str, object] = {
        "base_url": ["http://a/v1", "http://b/v1"],
        "protocol": "completions",
        "api_key_env": "MY_KEY",
        "ca_file": "/etc/ca.pem",
        "serve": True,
        "data": "sample",
        "split": "test",
        "shots": 5,
        "tasks": ("Math*", "*Law*"),
        "limit": 3,
        "shard": "2/3",
        "template": "m3ke-en/1",
        "fewshot": "turns",
        "system": "只答字母\n谢谢",
        "temperature": 1,
        "max_tokens": 16,
        "answer": "constrained",
        "thinking": "off",
        "rotate": True,
        "samples": 5,
        "concurrency": 8,
        "rpm": 60,
        "tpm": 1e6,
        "max_attempts": 2,
        "timeout": 9.5,
        "results": "out",
        "name": "mine",
        "fresh": True,
        "retry_failed": True,
        "retry_filtered": False,
        "skip_overlap": False,
        "batch": True,
        "then": "live",
        "policy": "strict",
        "price": "0.15,0.6",
        "max_cost": 2,
        "max_requests": 10,
        "max_tokens_total": 1000,
        "max_time": 60,
    }
    assert given.keys() == RunOptions.__annotations__.keys()
    settings = make_settings("vllm/m", given)
    assert settings.base_url == ("http://a/v1", "http://b/v1")
    assert (settings.split, settings.fewshot, settings.price) == (
        Split.TEST,
        FewShot.TURNS,
        Price(0.15, 0.6),
    )
    assert settings.shard == Shard(2, 3)
    assert settings.budget == Budget(10, 1000, 2.0, 60.0)
    plain = {name: value for name, value in given.items() if name not in {"base_url", "price", "shard"}}
    assert {name: getattr(settings, name) for name in plain} == plain


def test_dashes_and_underscores_are_the_same() -> None:
    assert make_settings("vllm/m", {"max-tokens": 7}) == make_settings("vllm/m", {"max_tokens": 7})


def test_none_is_not_given() -> None:
    assert make_settings("vllm/m", {"shots": None, "tasks": None}) == make_settings("vllm/m", {})


@pytest.mark.parametrize(("value", "kept"), [("auto", None), ("8", 8), (8, 8), (10_000, 10_000)])
def test_concurrency_is_a_number_or_auto(value: object, kept: int | None) -> None:
    assert make_settings("vllm/m", {"concurrency": value}).concurrency == kept


@pytest.mark.parametrize("value", ["0.15,0.6", " 0.15 , 0.6 ", [0.15, 0.6], (0.15, 0.6), Price(0.15, 0.6)])
def test_a_price_is_two_numbers_in_any_form(value: object) -> None:
    assert make_settings("vllm/m", {"price": value}).price == Price(0.15, 0.6)


def test_one_text_is_a_list_of_one() -> None:
    assert make_settings("vllm/m", {"tasks": "Math*"}).tasks == ("Math*",)


# What is refused


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("shots", 9, "--shots must be a whole number from 0 to 5, not 9"),
        ("shots", -1, "from 0 to 5, not -1"),
        ("shots", True, "not True"),
        ("shots", "3", "not '3'"),
        ("shots", 2.0, "not 2.0"),
        ("limit", 0, "--limit must be a whole number from 1 to"),
        ("limit", 10**30, "from 1 to 1,000,000,000,000, not 1000"),
        ("max_tokens", 0, "--max-tokens must be"),
        ("max_attempts", 101, "from 1 to 100, not 101"),
        ("temperature", -0.1, "--temperature must be a number from 0 to 2, not -0.1"),
        ("temperature", 2.5, "from 0 to 2"),
        ("temperature", math.nan, "not nan"),
        ("temperature", "0", "not '0'"),
        ("rpm", 0, "--rpm must be a number above 0 to"),
        ("rpm", math.inf, "not inf"),
        ("rpm", 10**400, "above 0"),
        ("timeout", False, "not False"),
        ("max_time", -5, "--max-time"),
        ("concurrency", 0, "auto or a whole number from 1 to 10000, not 0"),
        ("concurrency", "9" * 5000, "auto or a whole number"),
        ("concurrency", "many", "not 'many'"),
        ("concurrency", True, "not True"),
        ("split", "tset", "--split must be dev or val or test, not 'tset', did you mean 'test'?"),
        ("split", ["dev"], "--split must be dev or val or test"),
        ("fewshot", "turn", "did you mean 'turns'?"),
        ("price", "0.15", "--price must be two numbers"),
        ("price", "a,b", "--price must be two numbers"),
        ("price", "1,2,3", "--price must be two numbers"),
        ("price", "-1,2", "--price must be two numbers"),
        ("price", "nan,2", "--price must be two numbers"),
        ("price", 5, "--price must be two numbers"),
        ("tasks", [], "--tasks must be a text or a list of texts, not []"),
        ("tasks", ["Math*", " "], "--tasks must be a text"),
        ("tasks", {"Math*": 1}, "--tasks must be a text or a list"),
        ("data", " ", "--data must be a text"),
        ("results", "a\0b", "--results must be a text"),
        ("name", 5, "--name must be a text, not 5"),
        ("fresh", 1, "--fresh must be true or false, not 1"),
        ("base_url", "localhost:8000/v1", "give --base-url like http://host:8000/v1"),
        ("base_url", [], "--base-url must be a text or a list of texts"),
        ("split", "\x1b[31m" * 99, "--split must be dev or val or test"),
    ],
)
def test_a_value_that_cannot_be_names_the_option_and_what_it_may_be(
    option: str, value: object, words: str
) -> None:
    message = refusal(**{option: value})
    assert words in message
    assert "\x1b" not in message


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("max_token", "max_tokens"),
        ("shot", "shots"),
        ("base-ulr", "base_url"),
        ("Temperature", "temperature"),
    ],
)
def test_an_unknown_option_names_the_nearest_right_one(given: str, right: str) -> None:
    assert refusal(**{given: 1}) == f"unknown option {given!r}, did you mean {right!r}?"


def test_an_option_that_is_like_none_gets_no_suggestion() -> None:
    assert refusal(zzzzz=1) == "unknown option 'zzzzz'"


@pytest.mark.parametrize("model", [None, 5, "", " "])
def test_the_model_must_be_a_text(model: object) -> None:
    with pytest.raises(UsageError, match="the model must be a text"):
        make_settings(model, {})


# Keys are never shown


@pytest.mark.parametrize(
    "value", [KEY, "hf_abcdefgh12345678", "gsk_abc123def456", "abc123.def456", "MY KEY", 5]
)
def test_a_key_in_place_of_its_variables_name_is_refused_and_not_shown(value: object) -> None:
    message = refusal(api_key_env=value)
    assert message == "--api-key-env takes the name of an environment variable, such as MY_KEY, not the key"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "my_key", "_K1", "MONKEY"])
def test_any_variables_name_will_do(name: str) -> None:
    assert make_settings("vllm/m", {"api_key_env": name}).api_key_env == name


def test_what_is_printed_and_stored_holds_no_key_of_an_address() -> None:
    url = f"https://user:{KEY}@Host/v1?key={KEY}&version=2"
    settings = make_settings("vllm/m", {"base_url": url})
    assert settings.base_url == (url,)
    assert settings.to_json()["base_url"] == ("https://host/v1?version=2",)
    assert KEY not in str(settings.to_json())


def test_a_wrong_address_is_refused_without_its_key() -> None:
    assert KEY not in refusal(base_url=f"ftp://user:{KEY}@host/v1?key={KEY}")


def test_what_is_stored_makes_the_same_settings_again() -> None:
    given: dict[str, object] = {
        "base_url": "http://a/v1",
        "price": "0.123456789,1234567.5",
        "concurrency": 8,
        "shots": 3,
        "max_cost": 0.5,
        "split": "test",
        "tasks": "Math*",
    }
    settings = make_settings("vllm/m", given)
    stored = {name: value for name, value in settings.to_json().items() if value not in (None, ())}
    assert make_settings(stored.pop("model"), stored) == settings
    assert make_settings("vllm/m", {}).to_json()["concurrency"] == "auto"


# The file


def test_a_file_gives_the_options_of_the_command_line(tmp_path: Path) -> None:
    text = 'model = "vllm/m"\nmax-tokens = 7\nbase_url = ["http://a/v1"]\ntasks = "Math*"\nfresh = false\n'
    assert config(tmp_path, text) == {
        "model": "vllm/m",
        "max_tokens": 7,
        "base_url": ["http://a/v1"],
        "tasks": "Math*",
        "fresh": False,
    }


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert config(tmp_path, b"\xef\xbb\xbfshots = 2\n") == {"shots": 2}


@pytest.mark.parametrize(
    ("key", "right"),
    [("max-token", "max-tokens"), ("max_token", "max-tokens"), ("modell", "model"), ("Shots", "shots")],
)
def test_an_unknown_key_names_the_file_the_key_and_the_nearest(tmp_path: Path, key: str, right: str) -> None:
    error = config_error(tmp_path, f"{key} = 1\n")
    assert error.field == key
    assert str(error).endswith(f"unknown key, did you mean {right!r}?")


def test_a_table_is_an_unknown_key(tmp_path: Path) -> None:
    assert config_error(tmp_path, "[run]\nshots = 1\n").field == "run"


def test_a_key_in_both_spellings_is_refused(tmp_path: Path) -> None:
    assert "twice" in str(config_error(tmp_path, "max-tokens = 1\nmax_tokens = 2\n"))


def test_a_file_in_gbk_is_refused_with_its_byte(tmp_path: Path) -> None:
    assert "byte 10" in str(config_error(tmp_path, 'system = "请答"\n'.encode("gbk")))


def test_a_file_that_is_no_toml_says_where(tmp_path: Path) -> None:
    assert "line 2" in str(config_error(tmp_path, "shots = 1\nlimit = \n"))


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(DataError, match="cannot be read"):
        read_config(tmp_path)
