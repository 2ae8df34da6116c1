"""The script that everybody writes: AsyncOpenAI, a semaphore, and one gather over all questions.

    python -m bench.naive BASE_URL SUITE CONCURRENCY FILE

Without retries, so that it sends exactly what the others send.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import orjson
from openai import AsyncOpenAI

from bench.mock_server import MODEL
from bench.suite import prompts


async def ask_all(base_url: str, suite: Path, concurrency: int) -> list[str | None]:
    """Ask every question once; the texts in the suite's order."""
    # By default it gives up when a connection takes 5 s to open, which a busy machine can need.
    client = AsyncOpenAI(api_key="bench", base_url=base_url, max_retries=0, timeout=600)
    semaphore = asyncio.Semaphore(concurrency)

    async def ask(prompt: str) -> str | None:
        async with semaphore:
            completion = await client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "user", "content": prompt}],
                temperature=0,
                max_tokens=64,
            )
        return completion.choices[0].message.content

    return await asyncio.gather(*(ask(prompt) for prompt in prompts(suite)))


if __name__ == "__main__":
    texts = asyncio.run(ask_all(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
    Path(sys.argv[4]).write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts))
