"""Requests into files of the size that a provider takes."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING

from m3ke_async.batch.line import request_line
from m3ke_async.batch.state import FOLDER_NAME, Part
from m3ke_async.files import whole_file
from m3ke_async.plan import TOKENS_PER_CHAR
from m3ke_async.tally import Ledger, exceeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3ke_async.batch.state import Batches
    from m3ke_async.profile import BatchApi
    from m3ke_async.request import ChatRequest
    from m3ke_async.settings import RunSettings
    from m3ke_async.tally import Price

#: What a file holds at most where the provider's file does not say: what all of them take.
MAX_REQUESTS, MAX_BYTES = 5_000, 100_000_000


@dataclass(slots=True)
class Filling:
    """How full the present file is; `files` counts those that were begun."""

    api: BatchApi
    files: int = 0
    requests: int = 0
    size: int = 0

    def add(self, size: int) -> bool:
        """Put a line in; whether it begins a new file."""
        most, most_bytes = self.api.max_requests or MAX_REQUESTS, self.api.max_bytes or MAX_BYTES
        begins = not self.files or self.requests >= most or self.size + size > most_bytes
        if begins:
            self.files, self.requests, self.size = self.files + 1, 0, 0
        self.requests += 1
        self.size += size
        return begins


class Limit:
    """The bounds of a command, held to what its requests may use at most: a batch cannot be stopped halfway.

    Attributes:
        reached: which bound left requests out; None while none has.
    """

    def __init__(self, settings: RunSettings, price: Price | None) -> None:
        self._settings, self._price = settings, price
        self._most = Ledger()
        self.reached: str | None = None

    def allows(self, request: ChatRequest) -> bool:
        """Whether one more request stays within the bounds."""
        most, budget = self._most, self._settings.budget
        tokens = round(request.prompt_chars * TOKENS_PER_CHAR[1])
        most.prompt_tokens += tokens
        most.batch_prompt_tokens += tokens
        most.completion_tokens += self._settings.max_tokens
        most.batch_completion_tokens += self._settings.max_tokens
        self.reached = exceeded(budget, most, self._price, 0.0)
        most.requests += 1
        return self.reached is None


def write_parts(
    requests: Iterable[ChatRequest], batches: Batches, api: BatchApi, address: str, *, replace: bool = False
) -> Iterator[Part]:
    """Write requests into files, each named in batch.json once it is whole.

    Args:
        requests: taken one by one.
        batches: the run's.
        api: the provider's limits.
        address: of the provider, without any key.
        replace: whether the replies take the place of earlier ones.
    """
    url, filling = api.url or "/v1/chat/completions", Filling(api)
    lines = (request_line(request, url) for request in requests)
    line = next(lines, None)
    if line is not None:
        filling.add(len(line))
        (batches.run.path / FOLDER_NAME).mkdir(parents=True, exist_ok=True)
    while line is not None:
        part = Part(f"m3ke-{token_hex(8)}", 0, address, replace)
        with whole_file(batches.file(part)) as file:
            count, begins = 0, False
            while line is not None and not begins:
                file.write(line)
                count += 1
                line = next(lines, None)
                begins = line is not None and filling.add(len(line))
        yield batches.put(part, requests=count)
