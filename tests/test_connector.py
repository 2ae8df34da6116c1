"""How connections are made: proxies by the environment, SOCKS, and certificates."""

from __future__ import annotations

import asyncio
import ssl
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
import trustme

from m3ke_async.address import parse_address
from m3ke_async.errors import ExitCode, IncompleteError, UsageError
from m3ke_async.providers import load_profile
from m3ke_async.wire.connector import make_connector, proxy_for, trusted
from m3ke_async.wire.transport import Transport
from tests.asking import ask
from tests.questions import write_suite
from tests.server import Server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
BODY = b'{"messages": [{"role": "user", "content": "Q0-0"}]}'


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def open_transport(url: str, tls: ssl.SSLContext | None = None) -> Transport:
    profile = load_profile("custom")
    return Transport(
        parse_address(url), profile=profile, key=None, connections=2, connect_timeout=2.0, tls=tls
    )


# -- which proxy -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({"http_proxy": "http://p:1"}, "http://h/v1", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "https://h/v1", None),
        ({"all_proxy": "socks5://p:1"}, "https://h/v1", "socks5://p:1"),
        ({"https_proxy": "p:1"}, "https://h/v1", "http://p:1"),
        ({"https_proxy": "http://p:1", "no_proxy": "h"}, "https://h/v1", None),
        ({"https_proxy": "http://p:1", "no_proxy": ".example"}, "https://a.example/v1", None),
        ({"https_proxy": "http://p:1", "no_proxy": "h"}, "https://u:x@h:8/v1", None),
        ({"http_proxy": "http://p:1"}, "http://127.0.0.1:8000/v1", None),
        ({"all_proxy": "socks5://p:1"}, "http://localhost/v1", None),
        ({"http_proxy": ""}, "http://h/v1", None),
    ],
)
def test_the_environment_names_the_proxy_and_never_one_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(parse_address(url)) == proxy


def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "ftp://p:1")
    with pytest.raises(UsageError, match="a ftp proxy"):
        proxy_for(parse_address("http://h/v1"))


async def test_an_http_proxy_gets_the_question_with_its_whole_address(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    async with open_transport("http://model.test/v1") as transport:
        assert (await transport.ask(BODY)).status == 200
    assert server.seen[0].path == "http://model.test/v1/chat/completions"


async def test_a_proxy_that_is_gone_is_named_and_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server() as gone:
        monkeypatch.setenv("http_proxy", gone.url.removesuffix("/v1"))
    monkeypatch.setattr("m3ke_async.preflight._LOOK_PAUSE", 0.001)
    result = await ask(write_suite(tmp_path / "suite"), "http://model.test/v1", tmp_path / "r")
    assert isinstance(result.stopped, IncompleteError)
    assert "the proxy for http://model.test/v1 does not answer" in str(result.stopped)


# -- SOCKS -------------------------------------------------------------------------------


@asynccontextmanager
async def socks(target: Server, asked: list[str], *, refusal: int = 0) -> AsyncIterator[str]:
    """A SOCKS 5 proxy that leads everybody to one server; its address."""
    port = int(target.url.split(":")[2].split("/")[0])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, kind = await reader.readexactly(4)
        name = await reader.readexactly((await reader.readexactly(1))[0] if kind == 3 else 4)
        await reader.readexactly(2)
        asked.append(name.decode())
        writer.write(bytes((5, refusal, 0, 1)) + bytes(6))
        if refusal:
            writer.close()
            return
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with proxy:
        yield f"127.0.0.1:{proxy.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks", "SOCKS5"])
async def test_a_socks_proxy_is_used_and_looks_the_name_up(
    server: Server, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    asked: list[str] = []
    async with socks(server, asked) as place:
        monkeypatch.setenv("all_proxy", f"{scheme}://{place}")
        async with open_transport("http://model.test/v1") as transport:
            assert (await transport.ask(BODY)).status == 200
    assert asked == ["model.test"]
    assert server.seen[0].path == "/v1/chat/completions"


async def test_a_socks_proxy_that_refuses_leaves_the_run_incomplete(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with socks(server, [], refusal=4) as place:  # host unreachable
        monkeypatch.setenv("all_proxy", f"socks5://{place}")
        result = await ask(
            write_suite(tmp_path / "suite"), "http://model.test/v1", tmp_path / "r", max_attempts=1
        )
    assert result.exit_code is ExitCode.INCOMPLETE
    assert server.seen == []


async def test_socks_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp_socks", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[socks\]'"):
        make_connector("socks5://p:1", None)


async def test_a_socks_address_without_a_port_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError) as caught:
        make_connector("socks5://user:S3cret@host", None)
    assert "S3cret" not in str(caught.value)


# -- certificates ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def secure(authority: trustme.CA) -> AsyncIterator[str]:
    """A server with a certificate by this authority; its address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_a_private_authority_is_trusted_by_its_file_alone(
    authority: trustme.CA, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with secure(authority) as url:
        async with open_transport(url, trusted(str(tmp_path / "ca.pem"))) as transport:
            assert (await transport.ask(b"{}")).body == b"{}"
        async with open_transport(url) as transport:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await transport.ask(b"{}")


async def test_an_authority_that_nobody_trusts_stops_a_run_before_anything_is_sent(
    authority: trustme.CA, tmp_path: Path
) -> None:
    async with secure(authority) as url:
        with pytest.raises(UsageError, match=r"certificate.*; give .* by --ca-file$"):
            await ask(write_suite(tmp_path / "suite"), url, tmp_path / "r")


async def test_https_to_a_server_that_speaks_http_says_so(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(UsageError, match=r"does the server speak https\?"):
            await ask(write_suite(tmp_path / "suite"), url, tmp_path / "r")


def test_the_systems_certificates_stay_trusted_beside_the_file(authority: trustme.CA, tmp_path: Path) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = trusted(str(tmp_path / "ca.pem"))
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == len(ssl.create_default_context().get_ca_certs()) + 1
    assert trusted(None) is None


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_without_certificates_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match="--ca-file"):
        trusted(str(file))
