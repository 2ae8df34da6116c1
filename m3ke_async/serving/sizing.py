"""How a model is laid out on a machine: pure arithmetic, and the reason for every number.

    weights / devices + KV cache of a few of the longest prompts <= nine tenths of the free memory

The KV cache of a token takes 2 (keys and values) * layers * kv_heads * head_width numbers of
two bytes; tensor parallelism splits weights and heads over a power of two of devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.serving.checkpoint import Checkpoint, Facts, Shape
    from m3ke_async.serving.machine import Machine

#: Share of the free memory that is planned with; the rest is for activations and fragments.
MEMORY_SHARE = 0.9
#: Prompts of the greatest length that are to fit side by side: fewer waste a device. One must.
PROMPTS = 8
#: The same on a processor, whose cores compute no more at a time.
CPU_PROMPTS = 16
#: From here on devices compute in bfloat16.
_BFLOAT16 = (8, 0)
#: Tokens that a chat template adds at most: its marks and its own system message.
_TEMPLATE = 128
#: Lengths are multiples of this.
_STEP = 256
_BYTES = 2
_STORED = {"float32": 4, "float": 4, "float64": 8}


@dataclass(frozen=True, slots=True)
class Demand:
    """What a run asks of a server.

    Attributes:
        chars: characters of its longest prompt.
        size: bytes of its longest prompt in UTF-8.
        reply: tokens of a reply at most.
    """

    chars: int
    size: int
    reply: int


@dataclass(frozen=True, slots=True)
class Sizing:
    """How a model is served.

    Attributes:
        dtype: in which it computes; `auto` leaves that to the engine.
        devices: over which it is split; 0 without a GPU, None where the devices are not known.
        length: tokens of prompt and reply.
        share: of a device's whole memory that the engine may take; None leaves that to it.
        cache: bytes of KV cache in main memory; None on devices, and where the model is not known.
        reasons: a line for each of these.
    """

    dtype: str
    devices: int | None
    length: int
    share: float | None
    cache: int | None
    reasons: tuple[str, ...]


def size(model: Checkpoint, machine: Machine, demand: Demand, *, devices: int | None = None) -> Sizing:
    """The layout for a model, a machine and a run.

    Args:
        model: what is served.
        machine: where.
        demand: the longest prompt and reply.
        devices: given by the user, which is not judged.

    Raises:
        UsageError: the model does not fit, even on all devices.
    """
    facts = model.facts
    length, why_length = _length(facts, demand)
    dtype, why_dtype = _dtype(facts, machine)
    reasons = [why_dtype]
    if model.unknown:
        reasons.append(f"weights: their size is not known, since {model.unknown}")
    used: int | None = devices
    share = cache = None
    if machine.unknown:
        reasons.append(f"devices: not known, since {machine.unknown}; the engine's own choice stands")
    elif machine.devices:
        if used is None:
            used, why = _devices(model, machine, length)
            reasons.append(why)
        share = min(device.free / device.total for device in machine.devices) * MEMORY_SHARE
        share = int(100 * share) / 100
        reasons.append(f"memory: nine tenths of what is free now are {share:.0%} of a device")
    else:
        used = 0
        cache, why = _main_memory(model, machine, length)
        reasons.append(why)
    return Sizing(dtype, used, length, share, cache, (*reasons, why_length, *_warnings(facts)))


def rounded(tokens: int) -> int:
    """Tokens of a prompt and a reply, with room for what a chat template adds."""
    return ceil((tokens + _TEMPLATE) / _STEP) * _STEP


def _length(facts: Facts | None, demand: Demand) -> tuple[int, str]:
    # No tokeniser makes more tokens of a text than it has bytes in UTF-8.
    length = rounded(demand.size + demand.reply)
    why = (
        f"length: {length:,} tokens hold the longest prompt ({demand.size:,} bytes, so no more tokens), "
        f"{demand.reply:,} tokens of reply and a chat template"
    )
    if facts is not None and facts.window is not None and facts.window < length:
        length = facts.window
        why = f"length: {length:,} tokens, which is all that the model was made for"
    return length, why


def _dtype(facts: Facts | None, machine: Machine) -> tuple[str, str]:
    if facts is not None and facts.quantised:
        return "auto", f"dtype: auto, since the weights are quantised ({facts.quantised})"
    if machine.unknown:
        return "auto", "dtype: auto, since the devices are not known"
    if not machine.devices:
        return "bfloat16", "dtype: bfloat16, which processors compute; there is no GPU"
    weakest = min(machine.devices, key=lambda device: device.capability)
    found = f"{weakest.name} has capability {weakest.capability[0]}.{weakest.capability[1]}"
    if weakest.capability >= _BFLOAT16:
        return "bfloat16", f"dtype: bfloat16, since {found} (8.0 or more)"
    return "float16", f"dtype: float16, since {found} (bfloat16 needs 8.0)"


def _devices(model: Checkpoint, machine: Machine, length: int) -> tuple[int, str]:
    """The smallest power of two of devices that holds the model; the largest where room is short on each."""
    count, facts = len(machine.devices), model.facts
    if facts is None or not facts.weights:
        return 1, f"devices: 1 of {count}, since the model's size is not known"
    room = int(min(device.free for device in machine.devices) * MEMORY_SHARE)
    heads = facts.shape.heads if facts.shape else 0  # not known: any number divides it
    tried = [power for power in (1 << bit for bit in range(count.bit_length())) if heads % power == 0]
    weights = _in_memory(facts)
    for used, prompts in (*((power, PROMPTS) for power in tried), (tried[-1], 1)):
        prompt = _prompt_cache(facts.shape, length, used)
        if weights / used + prompts * prompt <= room:
            side_by_side = (
                f" and {counted(int((room - weights / used) // prompt), 'longest prompt')}" if prompt else ""
            )
            return used, (
                f"devices: {used} of {count}; {_gb(weights / used)} of weights{side_by_side} fit into "
                f"{_gb(room)}, nine tenths of what is free on each"
            )
    most = tried[-1]
    cache = most * _prompt_cache(facts.shape, length, most)
    raise UsageError(
        f"{model.name} does not fit: {_gb(weights)} of weights and {_gb(cache)} of KV cache for one "
        f"prompt need more than {most} x {_gb(room)}, nine tenths of what is free "
        f"({counted(count, 'device')}, {heads or 'unknown'} attention heads); take a smaller or a "
        "quantised model, or give your own layout after --, such as -- --tensor-parallel-size N"
    )


def _main_memory(model: Checkpoint, machine: Machine, length: int) -> tuple[int | None, str]:
    facts = model.facts
    if facts is None or not facts.weights or machine.memory is None:
        return None, "memory: the processor's; how much the model needs is not known"
    prompt = _prompt_cache(facts.shape, length, 1)
    weights, room = _in_memory(facts), int(machine.memory * MEMORY_SHARE)
    if weights + prompt > room:
        raise UsageError(
            f"{model.name} does not fit: {_gb(weights)} of weights and {_gb(prompt)} of KV cache "
            f"for one prompt need more than {_gb(room)}, nine tenths of the main memory that is free, "
            "and there is no GPU; take a smaller or a quantised model"
        )
    cache = min(CPU_PROMPTS * prompt, room - weights)
    return cache or None, (
        f"memory: {_gb(weights)} of weights and {_gb(cache)} of KV cache, of {_gb(machine.memory)} free"
    )


def _in_memory(facts: Facts) -> int:
    """Bytes of the weights once they are loaded; engines turn wide ones into 16 bits."""
    stored = _STORED.get(facts.dtype or "", _BYTES)
    return facts.weights if facts.quantised else facts.weights * _BYTES // stored


def _prompt_cache(shape: Shape | None, length: int, devices: int) -> int:
    """Bytes of KV cache of one prompt on each device."""
    if shape is None:
        return 0
    return length * shape.layers * ceil(shape.kv_heads / devices) * shape.kv_width * _BYTES


def _warnings(facts: Facts | None) -> list[str]:
    found = []
    if facts is not None and not facts.template:
        found.append(
            "no chat template: a base model has none, and chat requests fail; "
            "ask it by --protocol completions, or give one after --: -- --chat-template FILE"
        )
    if facts is not None and facts.own_code:
        found.append(
            "own code: config.json names Python code; where the engine does not know the model, read that "
            "code and add -- --trust-remote-code"
        )
    return found


def _gb(number: float) -> str:
    return f"{number / 1e9:,.1f} GB"
