"""How a model is to answer: freely or not, with or without thinking; and what is sent to that end."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import UsageError
from m3ke_async.profile import Support
from m3ke_async.wire.chat import CHAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.profile import Constraint, Profile
    from m3ke_async.wire.protocol import Protocol


#: What most servers give at a position at most.
_TOP = 20

#: Tokens that are asked for along with probabilities: an answer may begin with a line's end or a bracket.
FIRST_TOKENS = 4


class AnswerMode(StrEnum):
    """What is taken for an answer."""

    TEXT = "text"  # the letter that a free reply chooses
    CONSTRAINED = "constrained"  # the one letter that the server lets the model write
    LOGPROBS = "logprobs"  # the letter that is the likeliest where the answer begins


class ThinkingMode(StrEnum):
    """Whether a model thinks before it answers; `default` leaves it to the model."""

    DEFAULT = "default"
    ON = "on"
    OFF = "off"


def thinking_fields(
    mode: ThinkingMode, profile: Profile, model: str, protocol: Protocol
) -> Mapping[str, Any]:
    """The fields of a request that switch thinking as wanted.

    Raises:
        UsageError: it is not known how, or cannot be done.
    """
    if mode is ThinkingMode.DEFAULT:
        return {}
    if protocol is not CHAT:
        raise UsageError(
            f"--thinking {mode} needs --protocol chat: plain text passes no template that could switch it"
        )
    switch = profile.thinking_of(model)
    if switch is None:
        raise UsageError(
            f"--thinking {mode}: it is not known how {profile.title} switches thinking for {model}; "
            f"describe it in a provider file of yours, or leave the option out"
        )
    fields = switch.on if mode is ThinkingMode.ON else switch.off
    if fields is None:
        raise UsageError(
            f"--thinking {mode}: {model} at {profile.title} has no such switch; leave the option out"
        )
    return fields


def constraints_of(profile: Profile, protocol: Protocol) -> tuple[Constraint, ...]:
    """Ways to hold a reply to one letter, in the order in which to try them.

    Raises:
        UsageError: none is known.
    """
    known = profile.constraints if protocol.constraints is None else protocol.constraints
    if not known:
        raise UsageError(
            f"--answer constrained: it is not known how {profile.title} holds a reply to a letter; "
            "describe it in a provider file of yours, or give --answer text"
        )
    return known


def tokens_with_probability(profile: Profile, thinking: ThinkingMode) -> int:
    """Of how many tokens a position to ask for probabilities.

    Raises:
        UsageError: there are none, or not where the answer begins.
    """
    if profile.logprobs.support is Support.NO:
        raise UsageError(
            f"--answer logprobs: {profile.title} gives no probabilities of tokens; "
            "give --answer text or constrained"
        )
    if thinking is ThinkingMode.ON:
        raise UsageError(
            "--answer logprobs reads the first token, which is a thought with --thinking on: "
            "give --thinking off, or --answer text"
        )
    return min(profile.logprobs.top or _TOP, _TOP)
