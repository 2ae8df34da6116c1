"""The wheel carries what the command needs, and nothing of M3KE's own texts."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import m3ke_async

ROOT = Path(__file__).resolve().parents[1]
#: Where a wheel keeps what lies beside the package in a checkout.
ASSETS = "m3ke_async/_assets/"

#: Asked of the installed package: what it finds, and what it can do with it.
_QUESTIONS = """
import json
from importlib.metadata import version

import m3ke_async
from m3ke_async.assets import asset
from m3ke_async.manifest import load_manifest
from m3ke_async.models import catalogue
from m3ke_async.prompt import load_template, template_names
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.published import published_table
from m3ke_async.suite import load_suite, sample_suite_path

print(json.dumps({
    "package": m3ke_async.__file__,
    "assets": [str(asset()), str(sample_suite_path())],
    "version": version("m3ke-async"),
    "tasks": len(load_manifest().tasks),
    "models": len(catalogue()),
    "templates": [load_template(name).name for name in template_names()],
    "providers": [load_profile(name).name for name in profile_names()],
    "published": len(published_table(0).rows),
    "sample": len(load_suite(sample_suite_path()).tasks),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed here")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """Names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def version() -> str:
    return m3ke_async.__version__


def beside_the_package(*parts: str) -> set[str]:
    """Files of a folder of the checkout, as the wheel names them."""
    folder = ROOT.joinpath(*parts)
    return {ASSETS + path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("folder", ["providers", "data"])
def test_the_wheel_holds_the_whole_folder(names: set[str], folder: str) -> None:
    expected = beside_the_package(folder)
    assert expected
    assert {name for name in names if name.startswith(f"{ASSETS}{folder}/")} == expected


def test_the_wheel_holds_manifest_catalogue_templates_sample_and_tables(names: set[str]) -> None:
    for name in ("data/m3ke.toml", "data/models.toml", "data/templates/m3ke-zh-1.toml"):
        assert ASSETS + name in names
    assert any(name.startswith(f"{ASSETS}data/sample/test/") for name in names)
    assert {name for name in names if "/results/" in name} == {f"{ASSETS}results/published.toml"}


def test_the_wheel_holds_every_module_and_the_mark_of_its_types(names: set[str]) -> None:
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "m3ke_async").rglob("*")
        if path.suffix in {".py", ".typed"}
    }
    assert modules <= names
    assert "m3ke_async/py.typed" in names


def test_the_wheel_holds_the_page_of_the_report(names: set[str]) -> None:
    page = ROOT / "m3ke_async" / "report" / "page"
    files = {path.relative_to(ROOT).as_posix() for path in page.iterdir() if path.is_file()}
    assert {"m3ke_async/report/page/page.html", "m3ke_async/report/page/d3.LICENSE"} <= files <= names


def test_the_wheel_holds_neither_tests_nor_runs_nor_replies(names: set[str]) -> None:
    tops = {name.split("/", 1)[0] for name in names}
    assert tops == {"m3ke_async", f"m3ke_async-{version()}.dist-info"}
    assert not [name for name in names if name.endswith((".sqlite", ".gguf", ".pyc", ".zip"))]


def test_none_of_m3kes_questions_is_in_the_wheel(wheel: Path, shared: Path) -> None:
    published = {
        json.loads(line)["question"]
        for path in (shared / "M3KE").rglob("*.jsonl")
        for line in path.read_bytes().splitlines()
        if line.strip()
    }
    with zipfile.ZipFile(wheel) as archive:
        carried = {
            json.loads(line)["question"]
            for name in archive.namelist()
            if name.endswith(".jsonl")
            for line in archive.read(name).splitlines()
        }
    assert len(published) > 10_000
    assert len(carried) >= 240
    assert not published & carried


def test_the_metadata_say_name_version_licence_and_command(wheel: Path) -> None:
    folder = f"m3ke_async-{version()}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()
        assert archive.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert metadata["Name"] == "m3ke-async"
    assert metadata["Version"] == version()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "m3ke = m3ke_async.__main__:main" in entry_points


def test_an_installation_finds_its_own_files(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(site),
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    asked = subprocess.run(
        [sys.executable, "-c", _QUESTIONS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(asked.stdout)
    assert Path(found["package"]).is_relative_to(site)
    assert all(Path(path).is_relative_to(site) for path in found["assets"])
    assert found["version"] == version()
    assert found["tasks"] == 71
    assert found["models"] >= 2
    assert {"m3ke-en/1", "m3ke-zh/1"} <= set(found["templates"])
    assert {"openai", "vllm", "local", "custom"} <= set(found["providers"])
    assert found["published"] >= 13
    assert found["sample"] >= 24
