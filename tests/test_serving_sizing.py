"""Machines and models that exist, laid out by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from m3ke_async.errors import UsageError
from m3ke_async.serving.checkpoint import Checkpoint, Facts, Shape
from m3ke_async.serving.machine import Device, Machine
from m3ke_async.serving.sizing import Demand, Sizing, size

GB = 10**9
#: M3KE with five shots: 4,775 bytes at most.
FIVE_SHOTS = Demand(chars=2492, size=4775, reply=64)

QWEN_7B = Facts(
    shape=Shape(layers=28, heads=28, kv_heads=4, kv_width=256),
    weights=15 * GB,
    dtype="bfloat16",
    window=32768,
    quantised=None,
    own_code=False,
    template=True,
    fingerprint="0" * 16,
)
QWEN_72B = replace(QWEN_7B, shape=Shape(80, 64, 8, 256), weights=145 * GB)
BAICHUAN_13B = replace(QWEN_7B, shape=Shape(40, 40, 40, 256), weights=27 * GB, window=4096)
BLOOM_7B = replace(QWEN_7B, shape=Shape(30, 32, 32, 256), weights=14 * GB, window=None)
QWEN_05B = replace(QWEN_7B, shape=Shape(24, 14, 2, 128), weights=GB)


def cards(count: int, gigabytes: int, capability: tuple[int, int] = (9, 0), *, free: float = 1.0) -> Machine:
    one = Device("Card", gigabytes * GB, int(gigabytes * GB * free), capability)
    return Machine(64 * GB, (one,) * count)


def laid_out(
    facts: Facts | None, machine: Machine, demand: Demand = FIVE_SHOTS, *, devices: int | None = None
) -> Sizing:
    unknown = None if facts else "the hub is not reached"
    return size(Checkpoint("o/m", "o/m", None, facts, unknown), machine, demand, devices=devices)


@pytest.mark.parametrize(
    ("facts", "machine", "devices"),
    [
        pytest.param(QWEN_7B, cards(1, 24), 1, id="7B on one card of 24 GB"),
        pytest.param(QWEN_7B, cards(4, 24), 1, id="no more cards than it needs"),
        pytest.param(QWEN_7B, cards(2, 16), 2, id="7B on two of 16 GB"),
        pytest.param(QWEN_7B, cards(4, 24, free=0.5), 2, id="only free memory counts"),
        pytest.param(QWEN_72B, cards(8, 80), 4, id="72B: two of 80 GB have no room for the cache"),
        pytest.param(QWEN_72B, cards(2, 141), 2, id="72B on two of 141 GB"),
        pytest.param(BLOOM_7B, cards(1, 24), 1, id="room for three prompts is less than wanted, and will do"),
        pytest.param(BLOOM_7B, cards(2, 16), 2, id="the same on two"),
        pytest.param(QWEN_05B, cards(8, 2), 1, id="0.5B anywhere"),
        pytest.param(BAICHUAN_13B, cards(3, 32), 2, id="of three cards two are used"),
        pytest.param(replace(QWEN_7B, weights=7 * GB, quantised="awq"), cards(1, 12), 1, id="quantised"),
        pytest.param(replace(QWEN_7B, weights=30 * GB, dtype="float32"), cards(1, 24), 1, id="wide weights"),
        pytest.param(replace(QWEN_7B, shape=None), cards(2, 16), 2, id="heads that are not known"),
        pytest.param(None, cards(4, 24), 1, id="a model that is not known"),
    ],
)
def test_the_fewest_devices_that_hold_weights_and_cache(
    facts: Facts | None, machine: Machine, devices: int
) -> None:
    assert laid_out(facts, machine).devices == devices


def test_devices_divide_the_attention_heads() -> None:
    seven = replace(QWEN_7B, shape=Shape(28, 14, 2, 256))  # 14 heads: halves, no quarters
    with pytest.raises(UsageError, match=r"need more than 2 x 7\.2 GB.*8 devices, 14 attention heads"):
        laid_out(seven, cards(8, 8))


@pytest.mark.parametrize(
    ("capability", "dtype", "why"),
    [
        ((7, 0), "float16", "dtype: float16, since Card has capability 7.0 (bfloat16 needs 8.0)"),
        ((7, 5), "float16", "dtype: float16, since Card has capability 7.5 (bfloat16 needs 8.0)"),
        ((8, 0), "bfloat16", "dtype: bfloat16, since Card has capability 8.0 (8.0 or more)"),
        ((12, 0), "bfloat16", "dtype: bfloat16, since Card has capability 12.0 (8.0 or more)"),
    ],
)
def test_the_dtype_is_what_the_device_computes(capability: tuple[int, int], dtype: str, why: str) -> None:
    found = laid_out(QWEN_7B, cards(1, 80, capability))
    assert found.dtype == dtype
    assert why in found.reasons


def test_the_weakest_device_decides() -> None:
    mixed = Machine(GB, (*cards(1, 80, (9, 0)).devices, *cards(1, 80, (7, 0)).devices))
    assert laid_out(QWEN_7B, mixed).dtype == "float16"


@pytest.mark.parametrize(
    ("facts", "machine"),
    [
        (replace(QWEN_7B, quantised="gptq"), cards(1, 80, (7, 0))),
        (QWEN_7B, Machine(GB, unknown="torch is not installed")),
    ],
)
def test_the_engine_chooses_the_dtype_where_this_is_not_for_us(facts: Facts, machine: Machine) -> None:
    assert laid_out(facts, machine).dtype == "auto"


@pytest.mark.parametrize(
    ("demand", "window", "length"),
    [
        (FIVE_SHOTS, 32768, 5120),
        (Demand(500, 1471, 64), 32768, 1792),
        (Demand(500, 1471, 2048), 32768, 3840),
        (FIVE_SHOTS, 2048, 2048),
        (FIVE_SHOTS, None, 5120),
    ],
)
def test_the_length_is_the_longest_prompt_and_the_reply(
    demand: Demand, window: int | None, length: int
) -> None:
    assert laid_out(replace(QWEN_7B, window=window), cards(1, 80), demand).length == length


def test_the_share_is_of_what_is_free() -> None:
    assert laid_out(QWEN_7B, cards(1, 80)).share == 0.9
    assert laid_out(QWEN_7B, cards(1, 80, free=0.5)).share == 0.45


def test_without_a_gpu_main_memory_holds_it() -> None:
    found = laid_out(QWEN_05B, Machine(8 * GB))
    assert (found.dtype, found.devices, found.share) == ("bfloat16", 0, None)
    assert found.cache == 16 * 5120 * 24 * 2 * 128 * 2  # sixteen of the longest prompts
    with pytest.raises(UsageError, match=r"more than 7\.2 GB, nine tenths of the main memory"):
        laid_out(QWEN_7B, Machine(8 * GB))


def test_the_cache_takes_no_more_main_memory_than_there_is() -> None:
    found = laid_out(QWEN_05B, Machine(2 * GB))
    assert found.cache == int(1.8 * GB) - GB


def test_unknown_devices_leave_the_layout_to_the_engine() -> None:
    found = laid_out(QWEN_72B, Machine(GB, unknown="torch is not installed"))
    assert (found.devices, found.share, found.cache, found.length) == (None, None, None, 5120)
    assert "devices: not known, since torch is not installed; the engine's own choice stands" in found.reasons


def test_a_layout_of_the_users_own_is_not_judged() -> None:
    assert laid_out(QWEN_72B, cards(2, 24), devices=2).devices == 2


def test_what_is_worth_knowing_is_said() -> None:
    reasons = laid_out(replace(QWEN_7B, own_code=True, template=False), cards(1, 80)).reasons
    assert any(reason.startswith("no chat template") for reason in reasons)
    assert any("--trust-remote-code" in reason for reason in reasons)
    assert len(laid_out(QWEN_7B, cards(1, 80)).reasons) == len(reasons) - 2
    assert any("the hub is not reached" in reason for reason in laid_out(None, cards(1, 80)).reasons)
