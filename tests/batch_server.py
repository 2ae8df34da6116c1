"""A scripted server of files and batches on loopback sockets, in OpenAI's form and in those that copy it.

    async with BatchServer() as server:
        server.stages = ["validating", "in_progress", "expired"]      # one a look
        server.faults["create"] = [Fault(500, after=True)]            # the batch is made, and the answer lost
        ... submit to server.url ...
        assert server.bills.total() == 4                              # lines of all batches that were made

What has no script is answered rightly, line by line, in the order of the file turned round.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from tests.server import completion, right, running_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from types import TracebackType

_MARK = re.compile(r"Q\d+-\d+")


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is not the right one; `after` the server did what was asked.

    Status 0 ends the connection; a body of bytes is sent as it is.
    """

    status: int
    body: Any = field(default_factory=lambda: {"error": {"message": "no", "code": None}})
    after: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def mark_of(line: dict[str, Any]) -> str:
    """The mark in the prompt of a request."""
    return str(_MARK.findall(line["body"]["messages"][-1]["content"])[-1])


def answered(custom_id: str, text: str, **usage: int) -> dict[str, Any]:
    """A line with a reply."""
    body = completion({"role": "assistant", "content": text})
    body["usage"] |= usage
    return {
        "id": f"line-{custom_id[:4]}",
        "custom_id": custom_id,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    }


def refused(
    custom_id: str, status: int, message: str, code: str | None = None, **error: Any
) -> dict[str, Any]:
    """A line with an error that the model's server gave."""
    body = {"error": {"message": message, "code": code, "param": None, **error}}
    return {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}


def not_asked(custom_id: str, code: str = "batch_expired") -> dict[str, Any]:
    """A line about a request that was not sent."""
    message = "This request could not be executed before the completion window expired."
    return {"custom_id": custom_id, "response": None, "error": {"code": code, "message": message}}


class BatchServer:
    """The server.

    Attributes:
        files: name and content by id.
        batches: as they are described, by id.
        bills: how often each custom id stands in a batch that was made.
        calls: how often each call was made.
        seen: headers of each call, in order.
        faults: errors by call, taken one by one; None is the right answer.
        stages: statuses of a batch, one a look; the last one stays.
        stages_of: the same by the number of the batch, from 0.
        results: lines of replies and of errors for the lines of a file that was worked on.
        trouble: the `errors` of a batch that failed.
        page: entries of one page of a list.
        shape: how a batch is described, given as it is described by OpenAI.
        file_shape, list_shape: the same of an uploaded file, and of a page of a list.
        on_call: called when a call comes.
        allows: whether a call comes with its key; 401 otherwise.
    """

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.bills: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.forms: list[dict[str, str]] = []
        self.upload_route = "/files"
        self.live: Counter[str] = Counter()
        self.faults: defaultdict[str, list[Fault | None]] = defaultdict(list)
        self.stages = ["validating", "in_progress", "finalizing", "completed"]
        self.stages_of: dict[int, list[str]] = {}
        self.results: Callable[[list[dict[str, Any]]], tuple[list[Any], list[Any]]] = all_right
        self.trouble: Any = None
        self.page = 100
        self.shape: Callable[[dict[str, Any]], Any] = lambda batch: batch
        self.file_shape: Callable[[dict[str, Any]], Any] = lambda file: file
        self.list_shape: Callable[[list[Any], bool], Any] = lambda entries, more: {
            "object": "list",
            "data": entries,
            "has_more": more,
        }
        self.on_call: Callable[[str], Awaitable[None]] = _nothing
        self.allows: Callable[[web.Request], bool] = lambda request: True
        self._looks: Counter[str] = Counter()
        self._numbers = 0

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._port}/v1"

    def lines(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """The requests of a batch."""
        _, content = self.files[batch["input_file_id"]]
        return [json.loads(line) for line in content.splitlines()]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 30)
        routes = (
            ("POST", "/v1/files", "upload", self._upload),
            ("POST", "/v1/files/upload", "upload", self._upload),
            ("GET", "/v1/files", "files", self._list_files),
            ("GET", "/v1/files/{id}/content", "download", self._download),
            ("GET", "/results/{id}", "download", self._download),
            ("POST", "/v1/batches", "create", self._create),
            ("GET", "/v1/batches", "list", self._list_batches),
            ("GET", "/v1/batches/{id}", "retrieve", self._retrieve),
            ("POST", "/v1/batches/{id}/cancel", "cancel", self._cancel),
            ("POST", "/v1/chat/completions", "chat", self._chat),
            ("GET", "/v1/models", "models", self._models),
        )
        for method, path, call, handler in routes:
            app.router.add_route(method, path, self._scripted(call, handler))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def _scripted(
        self, call: str, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.calls[call] += 1
            self.seen.append((call, dict(request.headers)))
            await self.on_call(call)
            if not self.allows(request):
                raise web.HTTPUnauthorized
            fault = self.faults[call].pop(0) if self.faults[call] else None
            if fault is not None and fault.after:
                await handler(request)
            if fault is None:
                return await handler(request)
            if fault.status == 0:
                assert request.transport is not None
                request.transport.abort()
            if isinstance(fault.body, bytes):
                return web.Response(body=fault.body, status=fault.status, headers=fault.headers)
            return web.json_response(fault.body, status=fault.status or 500, headers=fault.headers)

        return handle

    def _id(self, kind: str) -> str:
        self._numbers += 1
        return f"{kind}-{self._numbers}"

    async def _upload(self, request: web.Request) -> web.Response:
        if request.path != f"/v1{self.upload_route}":
            raise web.HTTPNotFound
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        self.forms.append({name: value for name, value in form.items() if isinstance(value, str)})
        id_ = self._id("file")
        self.files[id_] = (file.filename, file.file.read())
        return web.json_response(self.file_shape({"id": id_, "filename": file.filename, "purpose": "batch"}))

    async def _list_files(self, request: web.Request) -> web.Response:
        entries = [{"id": id_, "filename": name} for id_, (name, _) in reversed(self.files.items())]
        return self._page_of(request, entries)

    async def _list_batches(self, request: web.Request) -> web.Response:
        return self._page_of(request, [*reversed(self.batches.values())])

    def _page_of(self, request: web.Request, entries: list[Any]) -> web.Response:
        after = request.query.get("after")
        ids = [entry["id"] for entry in entries]
        start = ids.index(after) + 1 if after else 0
        page = entries[start : start + self.page]
        return web.json_response(self.list_shape(page, start + self.page < len(entries)))

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        id_ = self._id("batch")
        batch = {
            "id": id_,
            "object": "batch",
            "created_at": int(time.time()),
            "status": "validating",
            **asked,
        }
        self.batches[id_] = batch
        lines = self.lines(batch)
        self.bills.update(line["custom_id"] for line in lines)
        batch["request_counts"] = {"total": len(lines), "completed": 0, "failed": 0}
        return web.json_response(self.shape(batch))

    async def _retrieve(self, request: web.Request) -> web.Response:
        id_ = request.match_info["id"]
        if id_ not in self.batches:
            raise web.HTTPNotFound
        batch = self.batches[id_]
        stages = self.stages_of.get([*self.batches].index(id_), self.stages)
        status = stages[min(self._looks[id_], len(stages) - 1)]
        self._looks[id_] += 1
        if batch["status"] not in {"completed", "cancelled"}:
            self._advance(batch, status)
        return web.json_response(self.shape(batch))

    def _advance(self, batch: dict[str, Any], status: str) -> None:
        batch["status"] = status
        if status == "failed":
            batch["errors"] = self.trouble
        if status in {"completed", "expired", "cancelled"} and "output_file_id" not in batch:
            replies, errors = self.results(self.lines(batch))
            batch[f"{status}_at"] = int(time.time()) + 5
            for name, lines in (("output_file_id", replies), ("error_file_id", errors)):
                batch[name] = self._write(lines) if lines else None
            batch["request_counts"] |= {"completed": len(replies), "failed": len(errors)}

    def _write(self, lines: list[Any]) -> str:
        id_ = self._id("file")
        raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        self.files[id_] = ("results", b"\n".join(raw) + b"\n")
        return id_

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["id"]]
        self.stages = ["cancelling", "cancelled"]
        batch["status"] = "cancelling"
        return web.json_response(self.shape(batch))

    async def _download(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]][1])

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        mark = mark_of({"body": body})
        self.live[mark] += 1
        return web.json_response(completion({"role": "assistant", "content": f"答案：{right(mark)}"}))

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})


async def _nothing(call: str) -> None:
    pass


def all_right(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The right letter for every request, the last one first."""
    return [answered(line["custom_id"], f"答案：{right(mark_of(line))}") for line in reversed(lines)], []


@contextmanager
def in_thread() -> Iterator[BatchServer]:
    """A server in a loop of its own, for tests that block theirs."""
    with running_in_thread(BatchServer()) as server:
        yield server
