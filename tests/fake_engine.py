"""A program that stands in for an engine: it takes the options that count, and misbehaves as told.

The name of the model says how:

    good          answers
    slow          is unhealthy at first
    oom, torn     fails as engines do, with their words
    children      leaves a grandchild in a session of its own, whose number it writes to a file
    stubborn      does not end when asked
    dies          ends when GET /die comes
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

FAILURES = {
    "oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "torn": "safetensors_rust.SafetensorError: Error while deserializing header: header too large",
    "strange": "something that nobody knows",
}


def main(arguments: list[str]) -> None:
    """Serve until told otherwise."""
    print("loading weights", flush=True)
    given = dict(pairwise(arguments))
    name = given.get("--served-model-name", arguments[0])
    kind = name.rpartition("/")[2]
    if kind in FAILURES:
        sys.exit(FAILURES[kind])
    if kind == "silent":
        time.sleep(600)
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "children":
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
        )
        print(f"child {child.pid}", flush=True)
    born = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

        def do_GET(self) -> None:
            if self.path == "/die":
                print("the last words", flush=True)
                os._exit(3)
            healthy = kind != "slow" or time.monotonic() - born > 1
            self.answer(200 if healthy else 503, {"data": [{"id": name}]})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": "B"}
            self.answer(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        def answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", int(given["--port"])), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
