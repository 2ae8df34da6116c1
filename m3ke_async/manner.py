"""How a model is to answer: freely or not, with or without thinking; and what is sent to that end."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import UsageError
from m3ke_async.wire.chat import CHAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.profile import Profile
    from m3ke_async.wire.protocol import Protocol


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
