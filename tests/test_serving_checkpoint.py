"""What a model's own files say, in a folder, in the hub's cache and on the hub."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import UsageError
from m3ke_async.serving.checkpoint import Facts, Shape, find_checkpoint, read_facts
from tests.file_server import FileServer

if TYPE_CHECKING:
    from pathlib import Path

QWEN = {
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "hidden_size": 3584,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}
WEIGHTS = {"model.safetensors": 1000}


def facts(config: dict[str, Any], files: dict[str, int] | None = None, **more: Any) -> Facts:
    return read_facts(json.dumps(config).encode(), WEIGHTS if files is None else files, **more)


@pytest.mark.parametrize(
    ("config", "shape", "window"),
    [
        pytest.param(QWEN, Shape(28, 28, 4, 256), 32768, id="grouped heads"),
        pytest.param(
            {
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "hidden_size": 4096,
                "model_max_length": 4096,
            },
            Shape(32, 32, 32, 256),
            4096,
            id="Baichuan: every head keeps keys",
        ),
        pytest.param(
            {
                "num_layers": 28,
                "num_attention_heads": 32,
                "hidden_size": 4096,
                "kv_channels": 128,
                "multi_query_attention": True,
                "multi_query_group_num": 2,
                "seq_length": 32768,
            },
            Shape(28, 32, 2, 256),
            32768,
            id="ChatGLM3: groups by another name",
        ),
        pytest.param(
            {
                "num_layers": 28,
                "num_attention_heads": 32,
                "hidden_size": 4096,
                "multi_query_attention": False,
                "multi_query_group_num": 2,
            },
            Shape(28, 32, 32, 256),
            None,
            id="groups that are named and not used",
        ),
        pytest.param(
            {"n_layer": 30, "n_head": 32, "n_embd": 4096}, Shape(30, 32, 32, 256), None, id="BLOOM's names"
        ),
        pytest.param(
            {
                **QWEN,
                "num_hidden_layers": 61,
                "num_attention_heads": 128,
                "kv_lora_rank": 512,
                "qk_rope_head_dim": 64,
            },
            Shape(61, 128, 1, 576),
            32768,
            id="DeepSeek: one compressed head",
        ),
        pytest.param(
            {**QWEN, "head_dim": 64, "layer_types": ["linear_attention"] * 21 + ["full_attention"] * 7},
            Shape(7, 28, 4, 128),
            32768,
            id="layers of fixed state keep no tokens",
        ),
        pytest.param({"text_config": QWEN}, Shape(28, 28, 4, 256), 32768, id="a model that also sees"),
        pytest.param({"hidden_size": "large"}, None, None, id="words that are not known"),
    ],
)
def test_the_shape_is_read_in_every_models_own_words(
    config: dict[str, Any], shape: Shape | None, window: int | None
) -> None:
    found = facts(config)
    assert (found.shape, found.window) == (shape, window)


@pytest.mark.parametrize(
    ("files", "size"),
    [
        ({"model-1.safetensors": 5, "model-2.safetensors": 6, "pytorch_model.bin": 11}, 11),
        ({"pytorch_model-1.bin": 5, "pytorch_model-2.bin": 6, "training_args.bin": 99}, 11),
        ({"model.safetensors": 5, "consolidated.safetensors": 5}, 5),
        ({"consolidated.safetensors": 7}, 7),
        ({"original/model.safetensors": 7, "README.md": 3}, 0),
    ],
)
def test_weights_are_counted_once(files: dict[str, int], size: int) -> None:
    assert facts(QWEN, files).weights == size


def test_an_index_tells_the_size_of_all_weights() -> None:
    assert facts(QWEN, {"model-1.safetensors": 5}, total=15).weights == 15


def test_quantised_weights_own_code_and_the_template_are_seen() -> None:
    found = facts({**QWEN, "quantization_config": {"quant_method": "awq"}, "auto_map": {"AutoModel": "x.Y"}})
    assert (found.quantised, found.own_code, found.template) == ("awq", True, False)
    assert facts(QWEN).quantised is None
    assert facts(QWEN, {**WEIGHTS, "chat_template.jinja": 10}).template
    assert facts(QWEN, tokenizer=b'{"chat_template": "x"}').template


def test_the_fingerprint_is_of_config_and_weights() -> None:
    same = facts(QWEN, {**WEIGHTS, "README.md": 5}).fingerprint
    assert same == facts(QWEN).fingerprint
    assert (
        len({same, facts(QWEN, {"model.safetensors": 1001}).fingerprint, facts({**QWEN, "x": 1}).fingerprint})
        == 3
    )


def test_a_torn_config_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"config.json is not JSON .*download it again"):
        read_facts(b'{"hidden', WEIGHTS)


# -- folders -----------------------------------------------------------------------------


def folder(path: Path, **files: bytes) -> Path:
    """A folder with a config.json and files, in whose names __ stands for a dot."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(QWEN))
    for name, content in files.items():
        (path / name.replace("__", ".")).write_bytes(content)
    return path


def test_a_folder_is_served_under_its_own_name(tmp_path: Path) -> None:
    path = folder(tmp_path / "qwen", model__safetensors=b"0123456789", chat_template__jinja=b"x")
    found = find_checkpoint(str(path))
    assert (found.spec, found.name, found.folder) == (str(path), "qwen", path)
    assert found.facts is not None
    assert (found.facts.weights, found.facts.template) == (10, True)


def test_a_folder_needs_a_config(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match=r"holds no config\.json, so it is no model"):
        find_checkpoint(str(tmp_path / "x"))
    folder(tmp_path / "x" / "inner", model__safetensors=b"1")
    with pytest.raises(UsageError, match=r"holds no config\.json; its folder inner has one"):
        find_checkpoint(str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.gguf", r"holds GGUF files: give one of them, such as .*a\.gguf"),
        ("adapter_config.json", "holds an adapter: merge it"),
    ],
)
def test_a_folder_of_another_kind_is_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(UsageError, match=message):
        find_checkpoint(str(tmp_path))


def test_a_folder_needs_its_weights(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no weights"):
        find_checkpoint(str(folder(tmp_path / "bare")))
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}).encode()
    path = folder(
        tmp_path / "half", **{"model-1__safetensors": b"1", "model__safetensors__index__json": index}
    )
    with pytest.raises(UsageError, match=r"lacks 1 of 2 weight files, such as model-2\.safetensors"):
        find_checkpoint(str(path))


def test_pointers_of_git_are_no_weights(tmp_path: Path) -> None:
    path = folder(tmp_path / "x", model__safetensors=b"version https://git-lfs.github.com/spec/v1\noid")
    with pytest.raises(UsageError, match="git lfs pull"):
        find_checkpoint(str(path))


def test_a_file_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"is a file that no engine loads: give the folder"):
        find_checkpoint(str(tmp_path / "model.safetensors"))
    with pytest.raises(UsageError, match="there is no folder"):
        find_checkpoint(str(tmp_path / "absent"))


# -- the hub -----------------------------------------------------------------------------


@pytest.fixture
def hub_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of the hub, and a hub that nobody answers at."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return tmp_path / "hub"


def test_a_cached_repository_is_read_without_the_hub(hub_cache: Path) -> None:
    repository = hub_cache / "models--Qwen--Qwen3-8B"
    folder(repository / "snapshots" / "abc", model__safetensors=b"0123")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    found = find_checkpoint("Qwen/Qwen3-8B")
    assert (found.spec, found.folder) == ("Qwen/Qwen3-8B", None)
    assert found.facts is not None
    assert found.facts.weights == 4


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_that_is_not_reached_leaves_the_model_unknown() -> None:
    found = find_checkpoint("Qwen/Qwen3-8B")
    assert found.facts is None
    assert found.unknown is not None
    assert found.unknown.startswith("the hub is not reached")


def hub_files(**more: bytes) -> dict[str, bytes]:
    """What the hub answers about a repository."""
    siblings = [{"rfilename": "model.safetensors", "size": 1234}, {"rfilename": "config.json", "size": 9}]
    return {
        "/api/models/o/m": json.dumps({"siblings": siblings}).encode(),
        "/o/m/resolve/main/config.json": json.dumps(QWEN).encode(),
        "/o/m/resolve/main/tokenizer_config.json": b'{"chat_template": "x"}',
        **more,
    }


@pytest.mark.usefixtures("hub_cache")
def test_the_hub_tells_what_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    with FileServer() as hub:
        hub.files = hub_files()
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        found = find_checkpoint("o/m")
        assert hub.seen[0][1] == "/api/models/o/m?blobs=true"
    assert found.facts is not None
    assert (found.facts.weights, found.facts.template, found.facts.window) == (1234, True, 32768)


@pytest.mark.usefixtures("hub_cache")
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, r"the hub does not show its files \(HTTP 404\)"),
        (hub_files() | {"/api/models/o/m": b"<html>"}, "the hub's answer is not understood"),
        (hub_files() | {"/api/models/o/m": b"[]"}, "the hub's answer is not understood"),
        (hub_files() | {"/o/m/resolve/main/config.json": b"{"}, "the hub's answer is not understood"),
    ],
)
def test_what_the_hub_does_not_tell_is_said(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], why: str
) -> None:
    with FileServer() as hub:
        hub.files = files
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        found = find_checkpoint("o/m")
    assert found.facts is None
    assert re.search(why, found.unknown or "")
