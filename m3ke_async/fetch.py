"""Get the published M3KE: from the project's repository, the hub's copy, a mirror, or a file.

Every file is compared with the manifest before anything is written, the folder is built
beside its place under a temporary name, and gets its own when it is complete.
"""

from __future__ import annotations

import glob
import json
import shutil
import tempfile
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from m3ke_async.archive import open_container, written
from m3ke_async.download import download, shown
from m3ke_async.errors import DataError, UsageError
from m3ke_async.manifest import M3KE_SPLITS, Split, load_manifest, parse_task_name
from m3ke_async.models import hub_endpoint
from m3ke_async.places import cache_dir, suite_dir, user_path
from m3ke_async.verified import DownloadError, locked, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from m3ke_async.verified import Progress

_GITHUB = "https://github.com"
_HUB_DATASET = "TJUNLP/M3KE"
#: The zip has 2 MB, the largest file 0.1 MB; other packings may have more.
_MAX_BYTES = 64 << 20


def fetch_suite(
    target: Path | None = None,
    *,
    progress: Progress,
    source: Path | None = None,
    mirror: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Put the published suite into a folder of its own and return it; a copy that is right stays.

    Args:
        target: the folder; by default `suite_dir()`.
        progress: told the bytes so far of a download.
        source: a zip or folder that is here already, instead of a download.
        mirror: an address that takes the place of `https://github.com` and of the hub's, or the
            address of a zip.
        say: told in one line of a source that failed, and of a copy that was there.

    Raises:
        UsageError: no source has it, a file differs from the manifest, or the target is something else.
    """
    if source is not None and mirror is not None:
        raise UsageError("--from takes a file that is here and --mirror an address: give one of them")
    target = user_path(target or suite_dir())
    downloads = cache_dir() / "data"
    with writing(downloads), locked(downloads):
        if _is_published(target):
            say(f"{target} holds the published M3KE already, every file verified")
            return target
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(
                f"{target} exists and is not the published M3KE: move it away, or choose another with --to"
            )
        if source is not None:
            _install(user_path(source), target)
        else:
            _from_network(target, downloads, mirror, progress, say)
            shutil.rmtree(downloads, ignore_errors=True)
    return target


def _from_network(
    target: Path, downloads: Path, mirror: str | None, progress: Progress, say: Callable[[str], None]
) -> None:
    problems: list[str] = []
    for get in _getters(mirror):
        try:
            found = get(downloads, progress)
            try:
                _install(found, target)
            except DataError:  # what came is not M3KE: the next call must not go on with it
                shutil.rmtree(downloads, ignore_errors=True)
                raise
        except (DownloadError, DataError) as error:
            problems.append(str(error))
            continue
        for problem in problems:
            say(problem)
        return
    raise UsageError(
        f"M3KE cannot be had: {'; '.join(problems)}; download M3KE.zip elsewhere and give it with --from"
    )


def _getters(mirror: str | None) -> list[Callable[[Path, Progress], Path]]:
    """What to try, in order; each returns a zip or a folder below the one that it is given."""
    if mirror is not None and mirror.endswith(".zip"):
        return [partial(_get_zip, mirror)]
    source = load_manifest().source
    path = f"{source.repository}/raw/{source.commit}/data/M3KE.zip"
    return [
        partial(
            _get_zip,
            f"{(mirror or _GITHUB).rstrip('/')}/{path}",
            sha256=source.zip_sha256,
            size=source.zip_bytes,
        ),
        partial(_get_from_hub, (mirror or hub_endpoint()).rstrip("/")),
    ]


def _get_zip(
    url: str, downloads: Path, progress: Progress, *, sha256: str | None = None, size: int | None = None
) -> Path:
    target = downloads / "M3KE.zip"
    return download(url, target, sha256=sha256, size=size, progress=progress, max_bytes=_MAX_BYTES)


def _get_from_hub(hub: str, downloads: Path, progress: Progress) -> Path:
    """The dataset's files, one by one, or the zip where it holds one.

    The paths in the hub's list choose what is fetched; the names on this machine are the manifest's.
    """
    paths = _list_hub(hub, downloads)
    files = f"{hub}/datasets/{_HUB_DATASET}/resolve/main"
    for path in paths:
        if PurePosixPath(path).name == "M3KE.zip":
            return _get_zip(f"{files}/{quote(path)}", downloads, progress)
    wanted = {f"{split}/{task.name}.jsonl" for task in load_manifest().tasks for split in M3KE_SPLITS}
    found = {name: path for path in paths if (name := "/".join(PurePosixPath(path).parts[-2:])) in wanted}
    if missing := wanted - found.keys():
        raise DownloadError(
            f"{shown(hub)} lists {len(found)} of M3KE's {len(wanted)} files, not {min(missing)!r}"
        )
    folder, done = downloads / "hub", 0
    for name, path in sorted(found.items()):
        file = download(
            f"{files}/{quote(path)}",
            folder / name,
            sha256=None,
            size=None,
            progress=partial(_advance, progress, done),
            max_bytes=_MAX_BYTES,
        )
        done += file.stat().st_size
    return folder


def _advance(progress: Progress, before: int, here: int, whole: int | None) -> None:
    """Count one file of many, whose sizes are known when they come."""
    progress(before + here, None)


def _list_hub(hub: str, downloads: Path) -> list[str]:
    target = downloads / "hub.json"
    target.unlink(missing_ok=True)
    url = f"{hub}/api/datasets/{_HUB_DATASET}/tree/main?recursive=true"
    download(url, target, sha256=None, size=None, progress=lambda here, whole: None, max_bytes=_MAX_BYTES)
    try:
        return [str(row["path"]) for row in json.loads(target.read_bytes()) if row["type"] == "file"]
    except (ValueError, TypeError, KeyError) as error:
        raise DownloadError(f"{shown(url)}: this is no list of the dataset's files") from error


def _is_published(folder: Path) -> bool:
    try:
        for _ in _verified_files(folder):
            pass
    except DataError:
        return False
    return True


def _install(source: Path, target: Path) -> None:
    """Write the files to a folder beside the target and give it its name when all are right."""
    with writing(target):
        prefix = f".{target.name}.m3ke-fetch-"
        for stale in target.parent.glob(f"{glob.escape(prefix)}*"):  # of a process that was killed
            shutil.rmtree(stale, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            for split in M3KE_SPLITS:
                (fresh / split).mkdir()
            for split, name, content in _verified_files(source):
                (fresh / split / f"{name}.jsonl").write_bytes(content)
            fresh.chmod(0o755)  # it is made for its owner alone
            if target.is_dir():
                target.rmdir()
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _verified_files(source: Path) -> Iterator[tuple[Split, str, bytes]]:
    """Split, task and content of every published file, with LF line ends as the repository has them.

    Raises:
        DataError: one is missing, or is not the published one.
    """
    tasks = {task.name: task for task in load_manifest().tasks}
    owed = {(split, name) for split in M3KE_SPLITS for name in tasks}
    with open_container(source) as container:
        for member in container.members(M3KE_SPLITS, (".jsonl",)):
            split, name = member.split, parse_task_name(member.stem, member.label).name
            if name not in tasks:
                continue
            content = b"".join(line + b"\n" for _, _, line in written(container.lines(member)))
            if sha256(content).hexdigest() != tasks[name].sha256[split]:
                raise DataError("is not the published file: its SHA-256 differs", file=member.label)
            owed.discard((split, name))
            yield split, name, content
    if owed:
        raise DataError(f"lacks {len(owed)} of M3KE's {2 * len(tasks)} files", file=source)
