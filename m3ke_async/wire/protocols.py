"""All wire protocols by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.wire.chat import CHAT
from m3ke_async.wire.completions import COMPLETIONS
from m3ke_async.wire.tgi import TGI

if TYPE_CHECKING:
    from m3ke_async.providers import Profile
    from m3ke_async.wire.protocol import Protocol

PROTOCOLS = {protocol.name: protocol for protocol in (CHAT, COMPLETIONS, TGI)}


def find_protocol(name: str | None, profile: Profile) -> Protocol:
    """The protocol of that name; None is the provider's first."""
    return CHAT if name is None else PROTOCOLS[name]
