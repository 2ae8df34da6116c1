"""The process that llama.cpp's server runs in: it ends with its parent, whatever ends that.

Its argument is JSON (`Settings` of llamacpp.py). It answers one line of JSON on standard
output, {"url": ...} or {"error": ...}, and ends when its input closes, which the operating
system does for it when the parent is killed. A process of its own, since the
library holds the interpreter while it loads, and a CPU that lacks an instruction kills it.
Everything that the library prints goes to standard error, which the parent sends to a file.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Serve until standard input closes."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)  # the library writes to descriptor 1 as it likes
        settings = json.loads(sys.argv[1])
        # Before the library loads: threads that spin while they wait starve one another on busy cores.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            server = _start(settings)
        except Exception as error:  # whatever it is, the parent has to hear of it
            json.dump({"error": f"{type(error).__name__}: {error}"}, answer)
            server = None
        else:
            json.dump({"url": server.listening_address}, answer)
        answer.write("\n")
    if server is not None:
        while sys.stdin.buffer.read(1 << 16):
            pass
    os._exit(0 if server is not None else 1)  # its threads must not keep the process


def _start(settings: dict[str, Any]) -> Any:
    """The running server. The names of xllamacpp's attributes change between its releases."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.hostnames, params.port = ["127.0.0.1"], settings["port"]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = settings["cache_mib"]
    params.endpoint_metrics = True
    params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
