"""HTTP over real sockets: what is sent, what comes back, and that no connection is left behind."""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest

from m3ke_async.address import parse_address
from m3ke_async.providers import load_profile
from m3ke_async.wire import transport as transport_module
from m3ke_async.wire.transport import BodyTooLargeError, Transport
from tests.server import (
    DRIP,
    HALF,
    HANG,
    HEADERS,
    RESET,
    Gate,
    Server,
    error,
    raw,
    right_reply,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server import Act

KEY = "sk-test-SENTINEL-0123456789"


@asynccontextmanager
async def connected(
    server: Server, *, key: str | None = None, connections: int = 4, provider: str = "custom", url: str = ""
) -> AsyncIterator[Transport]:
    address = parse_address(url or server.url)
    async with Transport(
        address, profile=load_profile(provider), key=key, connections=connections, connect_timeout=2.0
    ) as transport:
        yield transport


def body(mark: str = "Q0-0") -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": mark}]}).encode()


async def test_the_body_goes_out_byte_for_byte_and_the_answer_comes_back_whole(server: Server) -> None:
    server.script["Q0-0"] = [raw({"text": "好" * 50_000}, 418, X_Some_Thing="Kept As It Is")]
    async with connected(server) as transport:
        response = await transport.ask(body())
    assert server.seen[0].raw == body()
    assert server.seen[0].path == "/v1/chat/completions"
    assert response.status == 418
    assert json.loads(response.body)["text"] == "好" * 50_000
    assert response.headers["x-some-thing"] == "Kept As It Is"


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [("custom", "authorization", f"Bearer {KEY}"), ("azure-openai", "api-key", KEY)],
)
async def test_the_key_is_sent_in_its_one_header_and_nowhere_else(
    server: Server, provider: str, header: str, value: str
) -> None:
    async with connected(server, key=KEY, provider=provider) as transport:
        await transport.ask(body())
    seen = server.seen[0]
    assert [(name, text) for name, text in seen.headers.items() if KEY in text] == [(header, value)]
    assert KEY not in seen.path
    assert KEY.encode() not in seen.raw


async def test_without_a_key_no_such_header_is_sent(server: Server) -> None:
    async with connected(server) as transport:
        await transport.ask(body())
    assert "authorization" not in server.seen[0].headers


async def test_a_redirect_is_an_answer_and_is_not_followed(server: Server) -> None:
    server.script["Q0-0"] = [raw(b"", 307, Location=server.url + "/elsewhere")]
    async with connected(server, key=KEY) as transport:
        response = await transport.ask(body())
    assert (response.status, len(server.seen)) == (307, 1)


async def test_a_packed_answer_is_unpacked(server: Server) -> None:
    server.script["Q0-0"] = [raw(gzip.compress(b'{"text": "B"}'), Content_Encoding="gzip")]
    async with connected(server) as transport:
        assert (await transport.ask(body())).body == b'{"text": "B"}'


async def test_a_packed_answer_is_cut_off_by_its_real_size(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "MAX_BODY", 100_000)
    server.script["Q0-0"] = [raw(gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip")]
    async with connected(server) as transport:
        with pytest.raises(BodyTooLargeError):
            await transport.ask(body())


async def test_cookies_of_the_server_are_not_sent_back(server: Server) -> None:
    server.script["Q0-0"] = [raw({}, Set_Cookie="session=1")]
    async with connected(server) as transport:
        for _ in range(2):
            await transport.ask(body())
    assert "cookie" not in server.seen[1].headers


async def test_a_proxy_in_the_environment_is_not_used_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with connected(server) as transport:
        assert (await transport.ask(body())).status == 200


async def test_the_list_of_models_is_asked_beside_the_chat_route(server: Server) -> None:
    async with connected(server) as transport:
        response = await transport.models()
    assert json.loads(response.body) == {"data": [{"id": "m"}]}


# -- broken answers --------------------------------------------------------------------


@pytest.mark.parametrize("act", [RESET, HALF])
async def test_a_broken_connection_raises_and_the_next_request_works(server: Server, act: Act) -> None:
    server.script["Q0-0"] = [act, right_reply("Q0-0")]
    async with connected(server) as transport:
        with pytest.raises((aiohttp.ClientError, OSError)):
            await transport.ask(body())
        assert (await transport.ask(body())).status == 200
    assert server.counts["Q0-0"] == 2


async def test_a_kept_connection_that_ends_without_a_byte_is_replaced_once(server: Server) -> None:
    server.script = {"Q0-1": [RESET, right_reply("Q0-1")], "Q0-2": [RESET]}
    async with connected(server, connections=1) as transport:
        assert not (await transport.ask(body("Q0-0"))).resent
        answer = await transport.ask(body("Q0-1"))
        assert (answer.status, answer.resent) == (200, True)
        await transport.ask(body("Q0-3"))
        with pytest.raises((aiohttp.ClientError, OSError)):
            await transport.ask(body("Q0-2"))
    assert (server.counts["Q0-1"], server.counts["Q0-2"]) == (2, 2)


async def test_a_kept_connection_that_ends_late_may_have_cost_something_and_is_a_failure(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "_AT_ONCE", 0.0)  # every end is later than that
    server.script["Q0-1"] = [RESET]
    async with connected(server, connections=1) as transport:
        await transport.ask(body("Q0-0"))
        with pytest.raises((aiohttp.ClientError, OSError)):
            await transport.ask(body("Q0-1"))
    assert server.counts["Q0-1"] == 1


@pytest.mark.parametrize("fresh", [False, True])
async def test_a_new_connection_that_ends_is_a_failure_at_once(server: Server, *, fresh: bool) -> None:
    server.script["Q0-0"] = [RESET]
    async with connected(server) as transport:
        with pytest.raises((aiohttp.ClientError, OSError)):
            await transport.ask(body("Q0-0"), fresh=fresh)
    assert server.counts["Q0-0"] == 1


async def test_half_an_answer_on_a_kept_connection_is_a_failure_at_once(server: Server) -> None:
    server.script["Q0-1"] = [HALF]
    async with connected(server, connections=1) as transport:
        await transport.ask(body("Q0-0"))
        with pytest.raises((aiohttp.ClientError, OSError)):
            await transport.ask(body("Q0-1"))
    assert server.counts["Q0-1"] == 1


async def test_an_answer_without_end_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "MAX_BODY", 100_000)
    server.script["Q0-0"] = [raw(b"x" * 5_000_000)]
    async with connected(server) as transport:
        with pytest.raises(BodyTooLargeError):
            await transport.ask(body())
        assert (await transport.ask(body("Q0-1"))).status == 200


@pytest.mark.parametrize("act", [HANG, HEADERS, DRIP])
async def test_a_cancelled_request_gives_its_connection_up(server: Server, act: Act) -> None:
    server.script["Q0-0"] = [act]
    arrived = asyncio.Event()
    server.on_request = lambda seen: arrived.set()
    async with connected(server, connections=1) as transport:
        task = asyncio.create_task(transport.ask(body()))
        await arrived.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(2):  # the pool of one is free again
            assert (await transport.ask(body("Q0-1"))).status == 200
        assert len(server.connections) <= 1


async def test_a_dripping_answer_is_ended_by_the_deadline_of_the_whole(server: Server) -> None:
    server.script["Q0-0"] = [DRIP]
    async with connected(server) as transport:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await transport.ask(body())


# -- connections -----------------------------------------------------------------------


async def test_as_many_as_the_pool_holds_are_in_flight_at_once_and_no_more(server: Server) -> None:
    gate = Gate()
    server.default = lambda mark: right_reply(mark).behind(gate)
    all_here = asyncio.Event()
    server.on_request = lambda seen: all_here.set() if len(server.seen) == 20 else None
    async with connected(server, connections=20) as transport:
        tasks = [asyncio.create_task(transport.ask(body(f"Q0-{row}"))) for row in range(30)]
        await all_here.wait()
        await asyncio.sleep(0.05)
        assert server.max_in_flight == len(server.connections) == 20
        gate.open()
        assert {response.status for response in await asyncio.gather(*tasks)} == {200}


async def test_connections_are_used_again(server: Server) -> None:
    async with connected(server, connections=3) as transport:
        for start in range(0, 30, 3):
            await asyncio.gather(*(transport.ask(body(f"Q0-{start + row}")) for row in range(3)))
    assert server.opened == 3


async def test_a_server_that_closes_without_notice_breaks_requests_only_before_it_answers_them(
    server: Server,
) -> None:
    server.default = lambda mark: right_reply(mark).then_close()

    async def until_answered(transport: Transport, mark: str) -> int:
        while True:
            try:
                return (await transport.ask(body(mark))).status
            except (aiohttp.ClientError, OSError):
                continue

    async def some(transport: Transport, worker: int) -> list[int]:
        return [await until_answered(transport, f"Q{worker}-{row}") for row in range(25)]

    async with connected(server, connections=8) as transport:
        statuses = await asyncio.gather(*(some(transport, worker) for worker in range(8)))
    assert statuses == [[200] * 25] * 8
    assert set(server.paid.values()) == {1}


async def test_no_connection_is_left_open_at_the_end_whatever_happened(server: Server) -> None:
    acts = [HANG, HEADERS, DRIP, RESET, HALF, error(500), error(429), right_reply("Q0-0")]
    server.script = {f"Q0-{row}": [act] for row, act in enumerate(acts * 3)}
    async with connected(server, connections=24) as transport:
        tasks = [asyncio.create_task(transport.ask(body(mark))) for mark in server.script]
        await asyncio.wait(tasks, timeout=0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(100):
        if not server.connections:
            break
        await asyncio.sleep(0.005)
    assert server.connections == set()


async def test_an_address_where_nobody_listens_raises_at_once(server: Server) -> None:
    async with Server() as gone:
        url = gone.url
    async with connected(server, url=url) as transport:
        with pytest.raises(aiohttp.ClientConnectorError):
            await transport.ask(body())
