"""What a wire protocol is to everybody else; another one is one file that makes a `Protocol`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from m3ke_async.profile import Constraint, Profile
    from m3ke_async.prompt import Message
    from m3ke_async.request import Reply, Usage


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the requests of a run ask for besides their messages, whatever a protocol calls it.

    Attributes:
        model: its name at the provider.
        temperature: 0 takes the most likely token each time.
        max_tokens: completion tokens at most.
        token_parameter: the provider's name for that limit, where the protocol leaves a choice.
        fields: further fields as a provider's file gives them.
        constraint: how the reply is held to one letter; None is not at all.
        logprobs: of how many tokens a position the probabilities are wanted; 0 is of none.
        stop: where text that a model continues goes on with a next question; a chat's turn ends by itself.
    """

    model: str
    temperature: float
    max_tokens: int
    token_parameter: str = "max_tokens"  # noqa: S105 - a field's name
    fields: Mapping[str, Any] = field(default_factory=dict)
    constraint: Constraint | None = None
    logprobs: int = 0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way to ask and to be answered.

    Attributes:
        name: as of `--protocol`.
        route: what follows the base address; None is the provider's own chat route.
        look: the route that names the served models.
        constraints: how a reply can be held to one letter; None is as the provider's file says.
        at_root: whether the routes lie beside the base's `/v1` and not below it.
        names_model: whether the body names the model; else it stands in the identity's address.
        body: the body that asks with these messages; all of it is sent, and is part of the identity.
        parse: the reply in a 200 answer, without its latency and number of attempts; None where
            there is none. It is total: any bytes will do.
        usage_of: tokens that an answer without a reply reports; an empty Usage where it reports none.
    """

    name: str
    route: str | None
    look: str
    body: Callable[[Wanted, Sequence[Message]], dict[str, Any]]
    parse: Callable[[bytes, Profile], Reply | None]
    usage_of: Callable[[bytes, Profile], Usage]
    constraints: tuple[Constraint, ...] | None = None
    at_root: bool = False
    names_model: bool = True

    def route_at(self, profile: Profile) -> str:
        """The route at a provider."""
        return self.route or profile.chat_path
