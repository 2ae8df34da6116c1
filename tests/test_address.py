from __future__ import annotations

import pytest

from m3ke_async.address import parse_address
from m3ke_async.errors import UsageError

SECRET = "sk-test-SENTINEL0123"


@pytest.mark.parametrize(
    ("base", "ask", "look"),
    [
        ("http://h/v1", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1/", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1//", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h", "http://h/chat/completions", "http://h/models"),
        ("http://h/", "http://h/chat/completions", "http://h/models"),
        ("http://h:8000/v1", "http://h:8000/v1/chat/completions", "http://h:8000/v1/models"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions", "https://h/api/paas/v4/models"),
        (
            "https://h/compatible-mode/v1/",
            "https://h/compatible-mode/v1/chat/completions",
            "https://h/compatible-mode/v1/models",
        ),
        (
            "https://h/v1beta/openai/",
            "https://h/v1beta/openai/chat/completions",
            "https://h/v1beta/openai/models",
        ),
        (
            "https://h/openai/v1?api-version=x",
            "https://h/openai/v1/chat/completions?api-version=x",
            "https://h/openai/v1/models?api-version=x",
        ),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1/chat/completions?a=b", "http://h/v1/chat/completions?a=b", "http://h/v1/models?a=b"),
        ("  http://h/v1 \n", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://h/v1#part", "http://h/v1/chat/completions", "http://h/v1/models"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions", "http://[::1]:8000/v1/models"),
        ("http://u:p@h/v1", "http://u:p@h/v1/chat/completions", "http://u:p@h/v1/models"),
        ("http://h/v1/v1", "http://h/v1/v1/chat/completions", "http://h/v1/v1/models"),
    ],
)
def test_the_route_is_added_once_and_the_given_path_is_kept(base: str, ask: str, look: str) -> None:
    address = parse_address(base)
    assert (address.ask, address.look) == (ask, look)


def test_a_provider_may_have_another_route() -> None:
    assert parse_address("http://h/v2", "/chat").ask == "http://h/v2/chat"
    assert parse_address("http://h/v2/chat", "/chat").look == "http://h/v2/models"


@pytest.mark.parametrize(
    "base",
    [
        "",
        "h/v1",
        "localhost:8000/v1",
        "127.0.0.1:8000",
        "//h/v1",
        "ftp://h/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://h:0/v1",
        "http://h:99999/v1",
        "http://h:port/v1",
        "http://[::1/v1",
        "http://h h/v1",
        "http://h/v1 /x",
        "http://h/\x1b[31m",
        "http://h/\udcff",
    ],
)
def test_what_is_no_http_address_is_refused_with_an_example(base: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(base)
    message = str(caught.value)
    assert "http://host:8000/v1" in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("base", "public"),
    [
        ("https://user:secret@Host/v1/", "https://host/v1"),
        ("https://token@h/v1", "https://h/v1"),
        ("https://u:p@ss@h/v1", "https://h/v1"),
        ("https://h/v1?key=secret", "https://h/v1"),
        ("https://h/v1?api_key=secret&api-version=2", "https://h/v1?api-version=2"),
        ("https://h/v1?X-Amz-Signature=secret&subscription-key=x&TOKEN=y", "https://h/v1"),
        ("https://h/v1/chat/completions?key=secret", "https://h/v1"),
        ("HTTPS://H/V1", "https://h/V1"),
    ],
)
def test_what_is_kept_of_an_address_has_no_secret(base: str, public: str) -> None:
    assert parse_address(base).public == public


def test_an_address_shows_no_secret_of_its_own() -> None:
    assert SECRET not in repr(parse_address(f"http://u:{SECRET}@h/v1?api-key={SECRET}"))


def test_the_secret_is_still_sent() -> None:
    assert parse_address(f"https://h/v1?key={SECRET}").ask.endswith(f"?key={SECRET}")


@pytest.mark.parametrize(
    "base",
    [f"ftp://u:{SECRET}@h/v1", f"ftp://h/v1?key={SECRET}", f"http://u:{SECRET}@h:port/v1?key={SECRET}"],
)
def test_a_refusal_does_not_show_the_secret(base: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(base)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "credentials"),
    [("http://u:p@h", True), ("http://u@h", True), ("http://h/@", False), ("http://h?a=u:p@h", False)],
)
def test_it_is_known_whether_an_address_names_a_user(base: str, *, credentials: bool) -> None:
    assert parse_address(base).credentials is credentials


@pytest.mark.parametrize(
    ("base", "loopback"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]/v1", True),
        ("http://localhost/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://a.localhost/v1", True),
        ("http://10.0.0.1/v1", False),
        ("http://localhost.example/v1", False),
        ("http://notlocalhost/v1", False),
    ],
)
def test_it_is_known_whether_an_address_is_this_machine(base: str, *, loopback: bool) -> None:
    assert parse_address(base).loopback is loopback


def test_what_is_sent_of_a_user_and_a_password_is_secret_too() -> None:
    address = parse_address("http://user:S3cretPassw0rd@host/v1?key=0therSecret")
    assert set(address.secrets) == {"S3cretPassw0rd", "dXNlcjpTM2NyZXRQYXNzdzByZA==", "0therSecret"}
    with pytest.raises(UsageError) as error:
        parse_address("http://user:S3cretPassw0rd/abc@host/v1")
    assert "S3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ("http://h:8000", "http://h:8000/v1"),
        ("http://h:8000/", "http://h:8000/v1"),
        ("http://h:8000/v1", "http://h:8000"),
        ("https://h/prefix", "https://h/prefix/v1"),
        ("https://h/prefix/v1/chat/completions", "https://h/prefix"),
        ("https://u:p@h/openai?key=1", "https://u:p@h/openai/v1?key=1"),
        ("https://h/api/paas/v4", None),
        ("https://h/v1beta/openai", None),
        ("https://r.example/openai/deployments/d?api-version=2024-10-21", None),
    ],
)
def test_the_neighbouring_address_has_the_version_or_lacks_it(base: str, other: str | None) -> None:
    found = parse_address(base).other
    assert (found and (found.public, found.ask, found.look)) == (
        other and (parse_address(other).public, parse_address(other).ask, parse_address(other).look)
    )
    assert found is None or (found.other is None and found.secrets == parse_address(base).secrets)


@pytest.mark.parametrize("route", ["/chat/completions", "/completions", "/models", "/chat/completions/"])
def test_a_route_that_was_copied_along_is_not_part_of_the_base(route: str) -> None:
    assert parse_address(f"http://h/v1{route}") == parse_address("http://h/v1")


def test_azures_form_keeps_its_query_behind_the_route() -> None:
    base = "https://r.example/openai/deployments/gpt?api-version=2024-10-21"
    asked = parse_address(base)
    assert asked.ask == ("https://r.example/openai/deployments/gpt/chat/completions?api-version=2024-10-21")
    assert asked.public == base


@pytest.mark.parametrize("base", ["http://h:80/v1", "http://h:80", "http://h:80/v1/", "http://h:80/generate"])
def test_routes_at_the_root_lie_beside_the_version(base: str) -> None:
    address = parse_address(base, "/generate", look="/info", at_root=True)
    assert (address.ask, address.look) == ("http://h:80/generate", "http://h:80/info")
    assert address.other is None
