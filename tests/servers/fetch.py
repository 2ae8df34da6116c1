"""Fetch the small model, and print where it lies: python -m tests.servers.fetch."""

from __future__ import annotations

import sys

from m3ke_async.models import resolve_model

MODEL = "qwen2.5-coder-0.5b"

if __name__ == "__main__":
    print(resolve_model(MODEL, lambda done, whole: None, say=lambda line: print(line, file=sys.stderr)).path)
