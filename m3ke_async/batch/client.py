"""A provider's files and batches, by OpenAI's SDK.

Answers are read as JSON and not by the SDK's models, since providers that copy OpenAI's API differ in
them: statuses in capitals, lists without a frame, a batch inside a `job`.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

from m3ke_async.batch.calling import AwayError, Caller
from m3ke_async.batch.remote import RemoteBatch, RemoteFile, page_of
from m3ke_async.error_body import load_json
from m3ke_async.errors import IncompleteError, StoppedError, UsageError
from m3ke_async.files import whole_file
from m3ke_async.profile import BatchKind
from m3ke_async.scrub import scrub_all
from m3ke_async.wire.connector import proxy_for, trusted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from m3ke_async.address import Address
    from m3ke_async.profile import BatchApi
    from m3ke_async.settings import RunSettings
    from m3ke_async.target import Target

T = TypeVar("T")
Listed = TypeVar("Listed", RemoteBatch, RemoteFile)

#: Seconds before the provider's list is looked at once more: a batch may stand in it a little late.
_SETTLE = 10.0

#: Seconds of one call; a file of hundreds of megabytes takes its time.
_TIMEOUT = 600.0

#: Stands where the SDK wants a key, until the provider's own header takes its place.
_NO_KEY = "-"

#: Entries of one page of a list.
_PAGE = 100


def batch_api(target: Target) -> BatchApi:
    """How a provider takes batches.

    Raises:
        UsageError: it does not, or not in files.
    """
    profile = target.profile
    if target.hosted is not None or profile.batch is None or profile.batch.kind is not BatchKind.FILES:
        form = "" if profile.batch is None else " in files"
        raise UsageError(
            f"{profile.title} takes no batches{form}: ask it by m3ke run without --batch, or write "
            "a file for `vllm run-batch` by m3ke batch write"
        )
    if target.protocol.name != "chat":
        raise UsageError("batches hold chat requests alone: leave out --batch or --protocol")
    return profile.batch


def batch_address(target: Target, public: str) -> Address:
    """The address with this public form, else the first."""
    return next((one for one in target.addresses if one.public == public), target.addresses[0])


@contextmanager
def _local(path: Path) -> Iterator[None]:
    """Trouble with a file of this machine, which no further try mends; the network's is of httpx's kinds."""
    try:
        yield
    except OSError as error:
        raise IncompleteError(
            f"{path}: {error.strerror or error}; see to that, then run the same command again"
        ) from error


class BatchClient:
    """Files and batches at one address.

    Args:
        target: who is asked.
        address: where.
        settings: certificates, tries.
        warn: is told where the neighbouring address is called instead.

    Raises:
        UsageError: certificates or a proxy cannot be used.
    """

    def __init__(
        self, target: Target, address: Address, settings: RunSettings, *, warn: Callable[[str], None]
    ) -> None:
        # Half a second and more of import, for batches alone.
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        self._target, self._api = target, batch_api(target)
        try:
            self._http = DefaultAsyncHttpxClient(
                proxy=proxy_for(address),
                trust_env=False,
                verify=trusted(settings.ca_file) or ssl.create_default_context(),
                follow_redirects=False,
                timeout=_TIMEOUT,
                event_hooks={"request": [self._sign]},
            )
        except (ImportError, ValueError) as error:
            raise UsageError(f"the proxy cannot be used for batches: {error}; name an HTTP proxy") from None
        self._sdk = AsyncOpenAI(
            api_key=_NO_KEY,
            base_url=self._base(address),
            default_query=dict(parse_qsl(urlsplit(address.ask).query)),
            http_client=self._http,
            max_retries=0,
            timeout=_TIMEOUT,
        )
        # What the environment says of OpenAI's accounts is no business of other providers.
        self._sdk.organization = self._sdk.project = None
        self._caller = Caller(
            target, address, max_attempts=settings.max_attempts, call_at=self._call_at, warn=warn
        )

    def _call_at(self, address: Address) -> None:
        self._sdk.base_url = self._base(address)

    def _base(self, address: Address) -> str:
        """Where files and batches are, at an address where questions are asked."""
        parts = urlsplit(address.ask)
        path = parts.path.removesuffix(self._target.protocol.route_at(self._target.profile))
        if self._api.until is not None:
            path = path.partition(self._api.until)[0]
        return urlunsplit(parts._replace(path=path, query="", fragment=""))

    async def _sign(self, request: Any) -> None:
        """Send the key in the provider's own header, and to nobody else."""
        if request.headers.get("Authorization") == f"Bearer {_NO_KEY}":
            del request.headers["Authorization"]
            profile, key = self._target.profile, self._target.key
            if key:
                request.headers[profile.key_header] = f"{profile.key_prefix}{key}"

    async def upload(self, path: Path, *, begun: bool) -> str:
        """The id of a file that is at the provider once this returns.

        Args:
            path: of the file; its name is its name there.
            begun: whether an earlier command may have uploaded it.

        Raises:
            StoppedError, IncompleteError: it does not get there.
        """
        if begun and (found := await self._find_file(path.name)) is not None:
            return found
        from httpx2 import Response  # the SDK's own client

        form = {name: value.replace("{name}", path.name) for name, value in self._api.form.items()}

        async def send() -> str:
            with _local(path), path.open("rb") as file:
                if self._api.upload == "/files":
                    answer = await self._sdk.files.with_raw_response.create(
                        file=(path.name, file, "application/jsonl"),
                        purpose=self._api.purpose,  # type: ignore[arg-type]
                        extra_body=form or None,
                    )
                    return RemoteFile.from_json(load_json(answer.content)).id
                raw = await self._sdk.post(
                    self._api.upload,
                    cast_to=Response,
                    body={"purpose": self._api.purpose, **form},
                    files=[("file", (path.name, file, "application/jsonl"))],
                    options={"headers": {"Content-Type": "multipart/form-data"}},
                )
                return RemoteFile.from_json(load_json(raw.content)).id

        return await self._caller.call("uploading a file", send)

    async def create(
        self, file_id: str, *, before_again: Callable[[], Awaitable[RemoteBatch | None]]
    ) -> RemoteBatch:
        """Make the batch of a file that has none, and no second one where an answer is lost.

        Args:
            file_id: of its requests.
            before_again: looks for it where an answer was lost.

        Raises:
            StoppedError, IncompleteError: it is not made, or nobody knows whether it was.
        """

        async def send() -> RemoteBatch:
            answer = await self._sdk.batches.with_raw_response.create(
                input_file_id=file_id,
                endpoint=self._api.url or "/v1/chat/completions",  # type: ignore[arg-type]
                completion_window=f"{self._api.window_hours or 24}h",  # type: ignore[arg-type]
            )
            return self._read(answer.content)

        return await self._caller.call("creating a batch", send, before_again=before_again)

    def _read(self, content: bytes) -> RemoteBatch:
        """The batch that an answer describes, whose words are shown and stored."""
        batch = RemoteBatch.from_json(load_json(content))
        return replace(batch, trouble=batch.trouble and scrub_all(batch.trouble, self._target.secrets))

    async def retrieve(self, batch_id: str) -> RemoteBatch:
        """A batch as it is now."""

        async def send() -> RemoteBatch:
            answer = await self._sdk.batches.with_raw_response.retrieve(batch_id)
            return self._read(answer.content)

        return await self._caller.call("asking for a batch", send)

    async def cancel(self, batch_id: str) -> RemoteBatch:
        """Begin nothing more of a batch."""

        async def send() -> RemoteBatch:
            answer = await self._sdk.batches.with_raw_response.cancel(batch_id)
            return self._read(answer.content)

        return await self._caller.call("cancelling a batch", send)

    async def download(self, file: str, path: Path) -> None:
        """Write a file of results to a path, whole; `file` is its id, or at some providers its address."""

        async def send() -> None:
            with _local(path), whole_file(path) as target:
                async with AsyncExitStack() as stack:
                    async for chunk in await self._chunks(file, stack):
                        target.write(chunk)

        await self._caller.call("fetching results", send)

    async def _chunks(self, file: str, stack: AsyncExitStack) -> AsyncIterator[bytes]:
        from openai import APIStatusError

        if not re.match(r"https?://", file):
            try:
                content = self._sdk.files.with_streaming_response.content(file)
                return (await stack.enter_async_context(content)).iter_bytes()
            except APIStatusError as error:
                elsewhere = error.response.headers.get("location")
                if elsewhere is None or error.status_code >= 400:
                    raise
                file = urljoin(str(error.response.url), elsewhere)
        # An address of a store carries its own leave, and gets no key.
        response = await stack.enter_async_context(self._http.stream("GET", file))
        if not response.is_success:
            await response.aread()
            response.raise_for_status()
        return response.aiter_bytes()

    async def _find_file(self, name: str) -> str | None:
        """The id of an uploaded file; None where it is not there, or the provider lists no files."""
        try:
            files = partial(self._sdk.files.with_raw_response.list, purpose=self._api.purpose)
            async for file in self._listed(files, RemoteFile.from_json):
                if file.name == name:
                    return file.id
        except (StoppedError, AwayError):  # a file that is there twice costs nothing
            return None
        return None

    async def find_batch(self, file_id: str, dead: tuple[str, ...]) -> RemoteBatch | None:
        """The batch that was made of a file; None where two looks at the list show none.

        Args:
            file_id: of its requests.
            dead: batches of this file that came to nothing.

        Raises:
            StoppedError, AwayError: the list cannot be read, or leaves open what a batch was made of.
        """
        unclear: str | None = None
        for pause in (0.0, _SETTLE):
            await asyncio.sleep(pause)
            async for batch in self._listed(self._sdk.batches.with_raw_response.list, RemoteBatch.from_json):
                if batch.id in dead:
                    continue
                if batch.file_id == file_id:
                    return batch
                if batch.file_id is None:
                    unclear = batch.id
        if unclear is not None:
            raise StoppedError(f"the provider's list does not say of which file {unclear} was made")
        return None

    async def _listed(
        self, ask: Callable[..., Awaitable[Any]], parse: Callable[[Any], Listed]
    ) -> AsyncIterator[Listed]:
        """What a list holds, page by page; what cannot be read in it must not pass for nothing."""
        after: str | None = None
        passed: set[str] = set()
        while True:
            query: dict[str, Any] = {"limit": _PAGE, **({"after": after} if after else {})}

            async def send(query: dict[str, Any] = query) -> tuple[list[Listed], bool]:
                entries, more = page_of(load_json((await ask(**query)).content))
                return [parse(entry) for entry in entries], more

            found, more = await self._caller.call("listing", send)
            for one in found:
                yield one
            if not more or not found:
                return
            after = found[-1].id
            if after in passed:
                raise StoppedError("the provider's list begins anew on every page, so its end cannot be seen")
            passed.add(after)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sdk.close()
