from __future__ import annotations

import pytest

from m3ke_async.errors import UsageError
from m3ke_async.progress import Silent
from m3ke_async.settings_checks import make_settings
from m3ke_async.target import HOSTED_TIMEOUT, OWN_TIMEOUT, Target, find_target

KEY = "sk-test-SENTINEL0123456789abcdef"
PASSWORD = "SENTINELx0123"


def target(model: str, environ: dict[str, str] | None = None, **options: object) -> Target:
    return find_target(make_settings(model, options), Silent(), environ or {})


def test_the_key_and_the_secrets_of_addresses_stand_in_no_repr() -> None:
    found = target(
        "custom/m",
        {"MY_KEY": KEY},
        api_key_env="MY_KEY",
        base_url=[f"http://h/v1?api-key={PASSWORD}"],
    )
    assert (found.key, found.secrets) == (KEY, (KEY, PASSWORD))
    assert "SENTINEL" not in repr(found)


def test_several_addresses_stand_for_one_model_in_any_order() -> None:
    first, second = "http://b:8000/v1", "http://a:8000/v1"
    found = target("custom/m", base_url=[first, second, first])
    assert [address.public for address in found.addresses] == [first, second]
    assert found.identities == target("custom/m", base_url=[second, first]).identities == (second, first)


@pytest.mark.parametrize(
    ("model", "options", "seconds"),
    [
        ("openai/m", {}, HOSTED_TIMEOUT),
        ("vllm/m", {"base_url": "http://h/v1"}, OWN_TIMEOUT),
        ("vllm/m", {"base_url": "http://h/v1", "timeout": 7}, 7.0),
    ],
)
def test_servers_of_ones_own_may_take_longer(model: str, options: dict[str, object], seconds: float) -> None:
    settings = make_settings(model, options)
    assert find_target(settings, Silent(), {"OPENAI_API_KEY": KEY}).timeout(settings) == seconds


@pytest.mark.parametrize(
    ("model", "options", "environ", "words"),
    [
        ("custom/m", {}, {}, "give --base-url, such as"),
        ("openai/m", {}, {}, "set OPENAI_API_KEY in the environment"),
        ("openai/m", {}, {"OPENAI_API_KEY": "  "}, "set OPENAI_API_KEY in the environment"),
        ("openai/m", {}, {"OPENAI_API_KEY": f"Bearer {KEY}"}, "copy it again"),
        ("openai/m", {"api_key_env": "MY_KEY"}, {"OPENAI_API_KEY": KEY}, "MY_KEY is not set"),
        ("custom/m", {"base_url": "http://u:p@h/v1", "api_key_env": "K"}, {"K": KEY}, "give one of them"),
        ("openai/m", {"serve": True}, {"OPENAI_API_KEY": KEY}, "give its address by --base-url"),
        ("vllm/m", {"serve": True, "base_url": "http://h/v1"}, {}, "give one of them"),
    ],
)
def test_what_cannot_be_asked_says_what_to_give_and_never_the_key(
    model: str, options: dict[str, object], environ: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        target(model, environ, **options)
    assert words in str(refusal.value)
    assert "SENTINEL" not in str(refusal.value)
