"""All wire protocols by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.wire.chat import CHAT
from m3ke_async.wire.completions import COMPLETIONS
from m3ke_async.wire.tgi import TGI

if TYPE_CHECKING:
    from m3ke_async.profile import Profile
    from m3ke_async.wire.protocol import Protocol

PROTOCOLS = {protocol.name: protocol for protocol in (CHAT, COMPLETIONS, TGI)}


def find_protocol(name: str | None, profile: Profile) -> Protocol:
    """The protocol of that name; None is the provider's first.

    Raises:
        UsageError: the provider does not speak it.
    """
    if name is None:
        return PROTOCOLS[profile.protocols[0]]
    if name not in profile.protocols:
        spoken = [word.value for word in profile.protocols]
        raise UsageError(
            f"{profile.title} does not speak {name}: give --protocol {' or '.join(spoken)}, "
            "or write custom/NAME --base-url URL"
        )
    return PROTOCOLS[name]
