"""Why a model server did not start or ended: what its log says, put in words."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason.

    Attributes:
        words: regular expressions, one of which stands in the log.
        means: what happened, and what to do.
    """

    words: tuple[str, ...]
    means: str


#: In the order in which they are asked; the words are those of vLLM, SGLang, TGI, transformers and torch.
CAUSES = (
    Cause(
        (
            "CUDA out of memory",
            "HIP out of memory",
            r"\bOutOfMemoryError",
            "std::bad_alloc",
            "Cannot allocate memory",
            "DefaultCPUAllocator: can't allocate",
            "No available memory for the cache blocks",
            "less than desired GPU memory utilization",
            "Not enough memory",
        ),
        "it ran out of memory; take a smaller or a quantised model, or free some",
    ),
    Cause(
        (
            "larger than the maximum number of tokens that can be stored in KV cache",
            "KV cache is needed, which is larger than",
        ),
        "the KV cache has no room for one prompt; take fewer --shots, lower --max-tokens or a smaller model",
    ),
    Cause(("[Aa]ddress already in use",), "its port is in use; give another --port"),
    Cause(("Cannot connect to the Docker daemon",), "docker's daemon does not run; start it"),
    Cause(("No space left on device",), "the disk is full; free some, or move the hub's cache by HF_HOME"),
    Cause(
        ("GatedRepoError", r"Access to model .{1,100} is restricted", "Cannot access gated repo"),
        "the model is gated; accept its licence on the hub and set HF_TOKEN",
    ),
    Cause(
        ("RepositoryNotFoundError", "is not a local folder and is not a valid model identifier"),
        "there is no such model on the hub; check the name",
    ),
    Cause(
        (
            "LocalEntryNotFoundError",
            "OfflineModeIsEnabled",
            "We couldn't connect to",
            "NameResolutionError",
            "Name or service not known",
            "Network is unreachable",
            "MaxRetryError",
        ),
        "the model is not here and the hub is not reached; give a folder, or a mirror by HF_ENDPOINT",
    ),
    Cause(
        (
            "requires you to execute the",
            "contains custom code which must be executed",
            r"(?:argument|setting|option) .?trust_remote_code=True",
        ),
        "the model comes with Python code of its own; read it, then add -- --trust-remote-code",
    ),
    Cause(
        ("and is not supported anymore",),
        "newer versions of the engine dropped the architecture; install the one that the log names",
    ),
    Cause(
        (
            r"[Mm]odel architectures? .{1,200} (?:is|are) not supported",
            "does not recognize this architecture",
            "Unrecognized model in",
            "has no vLLM implementation",
        ),
        "this version of the engine does not know the architecture; update it, or take --engine transformers",
    ),
    Cause(
        ("Missing dependencies for serving",),
        "transformers lacks its server; pip install 'transformers[serving]'",
    ),
    Cause(
        (
            "NVIDIA driver on your system is too old",
            "CUDA driver version is insufficient",
            "no kernel image is available",
            "Failed to infer device type",
            "No CUDA GPUs are available",
            "not compiled with CUDA enabled",
        ),
        "the engine's build does not fit the devices; install the build for them",
    ),
    Cause(
        ("unrecognized arguments?:", "No such option:", "unexpected argument"),
        "it does not know an option; look at those after --, and update the engine",
    ),
    Cause(
        ("SafetensorError", "header too large", "incomplete metadata", "InvalidHeader"),
        "a weight file is torn; download it again",
    ),
)


def find_cause(log: str) -> str | None:
    """What happened, as far as a log is understood."""
    return next(
        (cause.means for cause in CAUSES if any(re.search(words, log) for words in cause.words)), None
    )
