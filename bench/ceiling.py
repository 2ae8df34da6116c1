"""The least that asking over aiohttp takes: workers, one session, the same bodies, and nothing kept.

    python -m bench.ceiling BASE_URL SUITE CONCURRENCY

No store, no retries, no pace, no scores. What the tool needs beyond this is what its
promises cost.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiohttp
import orjson

from bench.mock_server import MODEL
from bench.suite import prompts
from m3ke_async.loop import run_loop


async def ask_all(base_url: str, suite: Path, concurrency: int) -> int:
    """Ask every question once; the number of texts that came back."""
    url, left, answered = f"{base_url}/chat/completions", prompts(suite), 0
    headers = {"Content-Type": "application/json", "Authorization": "Bearer bench"}

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal answered
        for prompt in left:
            body = orjson.dumps(
                {
                    "max_tokens": 64,
                    "messages": [{"content": prompt, "role": "user"}],
                    "model": MODEL,
                    "temperature": 0,
                }
            )
            async with session.post(url, data=body) as response:
                reply = orjson.loads(await response.read())
            answered += bool(reply["choices"][0]["message"]["content"])

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar(), headers=headers
    ) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
    return answered


if __name__ == "__main__":
    print(run_loop(ask_all(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
