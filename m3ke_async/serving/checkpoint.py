"""Models in the format of transformers: config.json beside weight files, in a folder or on the hub.

Only names, sizes and config.json are read, never a weight. A repository of the hub is looked
up in the hub's cache on this machine first, then on the hub.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import orjson

from m3ke_async.download import is_allowed
from m3ke_async.errors import UsageError
from m3ke_async.models import hub_endpoint
from m3ke_async.places import user_path
from m3ke_async.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_INDEX = "model.safetensors.index.json"
_CONFIG = "config.json"
#: What git leaves of a large file that it did not fetch.
_LFS_POINTER = b"version https://git-lfs"
_LFS_SIZE = 1024
_HUB_TIMEOUT = 15

#: Weight files, those before others that an engine prefers. Mistral's repositories hold everything twice,
#: once as `consolidated`.
_WEIGHTS = (
    r"(?!consolidated)[^/]*\.safetensors",
    r"(?:pytorch_)?model[^/]*\.bin",
    r"[^/]*\.safetensors",
)
#: Names of one thing in config.json; old models have their own.
_ALIASES = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "multi_query_group_num", "num_kv_heads"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "head_width": ("head_dim", "kv_channels"),
    "window": (
        "max_position_embeddings",
        "model_max_length",
        "seq_length",
        "max_sequence_length",
        "n_positions",
    ),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how large the KV cache is.

    Attributes:
        layers: those that keep keys and values.
        heads: attention heads.
        kv_heads: heads that keep keys and values.
        kv_width: numbers that such a head keeps for a token, keys and values together.
    """

    layers: int
    heads: int
    kv_heads: int
    kv_width: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the files of a model say.

    Attributes:
        shape: None where config.json does not tell it in known words.
        weights: bytes of the weight files.
        dtype: in which they are stored.
        window: tokens of prompt and reply that the model was made for.
        quantised: the method, for weights that are.
        own_code: whether config.json names Python code beside it.
        template: whether there is a chat template.
        fingerprint: hash of config.json and of the names and sizes of the weight files.
    """

    shape: Shape | None
    weights: int
    dtype: str | None
    window: int | None
    quantised: str | None
    own_code: bool
    template: bool
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model that an engine is to load.

    Attributes:
        spec: what the engine is given: a hub id, or the path of a folder.
        name: how the server calls it.
        folder: None for a hub id.
        facts: None where its files cannot be seen before the engine fetches them.
        unknown: why there are no facts.
    """

    spec: str
    name: str
    folder: Path | None
    facts: Facts | None
    unknown: str | None = None


def find_checkpoint(spec: str) -> Checkpoint:
    """The model that a user means.

    Raises:
        UsageError: no such folder, or one that no engine can load.
    """
    path = user_path(spec)
    if path.is_dir():
        folder = path.resolve()
        _check_folder(folder)
        return Checkpoint(str(folder), one_line(folder.name, limit=100), folder, _facts_of(folder))
    if path.exists():
        raise UsageError(
            f"{one_line(spec)} is a file that no engine loads: give the folder that holds {_CONFIG} and the "
            "weights, or a *.gguf file"
        )
    if not _HUB_ID.fullmatch(spec):
        raise UsageError(
            f"there is no folder {one_line(spec)}, and it is no name on the hub either, such as Qwen/Qwen3-8B"
        )
    snapshot = _cached(spec)
    if snapshot is not None and (kept := _facts_of(snapshot)).weights:
        return Checkpoint(spec, spec, None, kept)
    facts = _on_the_hub(spec)
    if isinstance(facts, str):
        return Checkpoint(spec, spec, None, None, facts)
    return Checkpoint(spec, spec, None, facts)


# -- a folder --------------------------------------------------------------------------


def _check_folder(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    if _CONFIG not in names:
        if ggufs := sorted(name for name in names if name.endswith(".gguf")):
            raise UsageError(f"{folder} holds GGUF files: give one of them, such as {folder / ggufs[0]}")
        if "adapter_config.json" in names:
            raise UsageError(f"{folder} holds an adapter: merge it with its base model, and give that folder")
        inner = sorted(file.parent.name for file in folder.glob(f"*/{_CONFIG}"))
        hint = f"; its folder {inner[0]} has one" if inner else ", so it is no model of transformers"
        raise UsageError(f"{folder} holds no {_CONFIG}{hint}")
    if _INDEX in names:
        shards = {str(shard) for shard in _table(folder / _INDEX).get("weight_map", {}).values()}
        if missing := sorted(shards - names):
            raise UsageError(
                f"{folder} lacks {len(missing)} of {counted(len(shards), 'weight file')}, such as "
                f"{one_line(missing[0])}: download the rest"
            )
    weights = _weights({file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()})
    if not weights:
        raise UsageError(f"{folder} holds no weights (*.safetensors or *.bin): download the model whole")
    for name, size in weights.items():
        if size < _LFS_SIZE and (folder / name).read_bytes().startswith(_LFS_POINTER):
            raise UsageError(f"{folder / name} is a pointer that git left: run `git lfs pull` in {folder}")


def _facts_of(folder: Path) -> Facts:
    files = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}
    config = (folder / _CONFIG).read_bytes()
    index = folder / _INDEX
    total = _table(index).get("metadata", {}).get("total_size") if index.is_file() else None
    settings = folder / "tokenizer_config.json"
    return read_facts(
        config,
        files,
        total=total if isinstance(total, int) else None,
        tokenizer=settings.read_bytes() if settings.is_file() else b"{}",
        where=folder,
    )


def hub_cache() -> Path:
    """Where huggingface_hub keeps what it downloads."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return user_path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def _cached(hub_id: str) -> Path | None:
    """The newest snapshot of a repository in the hub's cache, as huggingface_hub lays it out."""
    repository = hub_cache() / f"models--{hub_id.replace('/', '--')}"
    try:
        snapshot = repository / "snapshots" / (repository / "refs" / "main").read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return snapshot if (snapshot / _CONFIG).is_file() else None


def _table(path: Path) -> dict[str, Any]:
    return _loads(path.read_bytes(), path)


def _loads(raw: bytes, where: Path | str) -> dict[str, Any]:
    try:
        table = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{where} is not JSON ({error}): download it again") from error
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table: download it again")
    return table


# -- the hub ---------------------------------------------------------------------------


def _on_the_hub(hub_id: str) -> Facts | str:
    """The facts of a repository, or why they cannot be had."""
    hub = hub_endpoint()
    if not is_allowed(hub):
        return f"{one_line(hub)} is not an address that is asked (HF_ENDPOINT)"
    try:
        with httpx.Client(
            timeout=_HUB_TIMEOUT, follow_redirects=True, trust_env=hub.startswith("https:")
        ) as client:
            listing = client.get(f"{hub}/api/models/{hub_id}", params={"blobs": "true"})
            config = client.get(f"{hub}/{hub_id}/resolve/main/{_CONFIG}")
            tokenizer = client.get(f"{hub}/{hub_id}/resolve/main/tokenizer_config.json")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
        return f"the hub is not reached ({one_line(str(error) or type(error).__name__)})"
    for answer in (listing, config):
        if not answer.is_success:
            return f"the hub does not show its files (HTTP {answer.status_code})"
    try:
        rows = orjson.loads(listing.content)["siblings"]
        files = {row["rfilename"]: row.get("size") or 0 for row in rows}
        return read_facts(
            config.content,
            files,
            tokenizer=tokenizer.content if tokenizer.is_success else b"{}",
            where=hub_id,
        )
    except (UsageError, KeyError, TypeError, ValueError) as error:
        return f"the hub's answer is not understood ({one_line(str(error))})"


# -- what the files say ------------------------------------------------------------------


def read_facts(
    config: bytes,
    files: Mapping[str, int],
    *,
    total: int | None = None,
    tokenizer: bytes = b"{}",
    where: Path | str = _CONFIG,
) -> Facts:
    """The facts in the files of a model.

    Args:
        config: content of config.json.
        files: sizes in bytes by name.
        total: bytes of all weights, where an index tells them.
        tokenizer: content of tokenizer_config.json.
        where: for messages.

    Raises:
        UsageError: config.json cannot be read.
    """
    table = _loads(config, where)
    # A model that also sees keeps the sizes of its language part in a table of their own.
    text = inner if isinstance(inner := table.get("text_config"), dict) else table
    quantised = table.get("quantization_config") or text.get("quantization_config")
    weights = _weights(files)
    mark = hashlib.sha256(config)
    for name in sorted(weights):
        mark.update(f"\n{name} {weights[name]}".encode())
    dtype = next(
        (found for name in ("dtype", "torch_dtype") if (found := text.get(name) or table.get(name))), None
    )
    return Facts(
        shape=_shape(text),
        weights=total or sum(weights.values()),
        dtype=str(dtype) if dtype else None,
        window=_number(text, "window"),
        quantised=str(quantised.get("quant_method", "unknown")) if isinstance(quantised, dict) else None,
        own_code=bool(table.get("auto_map")),
        template=any(name.startswith("chat_template.") for name in files)
        or "chat_template" in _loads(tokenizer, "tokenizer_config.json"),
        fingerprint=mark.hexdigest()[:16],
    )


def _weights(files: Mapping[str, int]) -> dict[str, int]:
    """The weight files that an engine reads: safetensors where there are any."""
    for pattern in _WEIGHTS:
        if found := {name: size for name, size in files.items() if re.fullmatch(pattern, name)}:
            return found
    return {}


def _shape(config: Mapping[str, Any]) -> Shape | None:
    layers, heads, hidden = (_number(config, name) for name in ("layers", "heads", "hidden"))
    if not layers or not heads or not hidden:
        return None
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == layers:
        layers -= kinds.count("linear_attention")  # these keep a state of fixed size
    latent = config.get("kv_lora_rank")
    if isinstance(latent, int) and latent > 0:  # one compressed head, the same on every device
        return Shape(layers, heads, 1, latent + int(config.get("qk_rope_head_dim") or 0))
    kv_heads = _number(config, "kv_heads") or (1 if config.get("multi_query") else heads)
    if config.get("multi_query_attention") is False:  # ChatGLM names groups that it does not use
        kv_heads = heads
    return Shape(layers, heads, kv_heads, 2 * (_number(config, "head_width") or hidden // heads))


def _number(config: Mapping[str, Any], name: str) -> int | None:
    found = (config.get(alias) for alias in _ALIASES[name])
    return next((value for value in found if isinstance(value, int) and 0 < value < 1 << 40), None)
