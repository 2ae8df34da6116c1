"""Who is asked: provider, model, key, addresses; everything about a run but its questions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from m3ke_async.address import parse_address
from m3ke_async.errors import UsageError
from m3ke_async.profile import Hosting
from m3ke_async.providers import load_profile, parse_model
from m3ke_async.tally import Price
from m3ke_async.wire.protocols import find_protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.address import Address
    from m3ke_async.profile import Profile
    from m3ke_async.progress import Display
    from m3ke_async.serving.hosted import Hosted
    from m3ke_async.settings import RunSettings
    from m3ke_async.wire.protocol import Protocol

#: Seconds of one attempt where none are set, at a hosted API and at a server of one's own.
HOSTED_TIMEOUT, OWN_TIMEOUT = 120.0, 600.0


class NoKeyError(UsageError):
    """A provider that needs a key gets none."""


@dataclass(frozen=True, slots=True)
class Target:
    """Who is asked: everything about the model but the questions.

    Attributes:
        profile: of the provider.
        protocol: how it is asked.
        model: its name there.
        key: the API key; it stands nowhere else.
        addresses: of the endpoints; empty for a model that m3ke serves itself.
        hosted: the model that m3ke serves itself.
    """

    profile: Profile
    protocol: Protocol
    model: str
    key: str | None = field(repr=False)
    addresses: tuple[Address, ...]
    hosted: Hosted | None = None

    def address(self, base_url: str) -> Address:
        """The addresses of an endpoint."""
        return address_of(base_url, self.profile, self.protocol)

    @property
    def identities(self) -> tuple[str, ...]:
        """What may stand for the address in the requests' identity, the same in whatever order it was given.

        Several addresses serve one model, so that one of them stands for all.
        """
        if self.hosted is not None:
            return (self.hosted.identity,)
        return tuple(sorted(address.public for address in self.addresses))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must stand in no message and no file."""
        keys = (self.key,) if self.key else ()
        return (*keys, *(secret for address in self.addresses for secret in address.secrets))

    def timeout(self, settings: RunSettings) -> float:
        """Seconds of one attempt. A server of one's own may keep a request waiting in its queue."""
        if settings.timeout is not None:
            return settings.timeout
        return HOSTED_TIMEOUT if self.profile.hosting is Hosting.HOSTED else OWN_TIMEOUT


def find_target(
    settings: RunSettings,
    display: Display,
    environ: Mapping[str, str] = os.environ,
    *,
    sends: bool = True,
    fetches: bool = True,
) -> Target:
    """Who is asked; a model of the catalogue is downloaded where it is not here yet.

    Args:
        settings: of the run.
        display: where to say how a download goes.
        environ: holds the key.
        sends: whether requests will be sent, which may need a key.
        fetches: whether a model is downloaded now, where requests will be sent.

    Raises:
        UsageError: no such provider, no address, or no key where one is needed.
    """
    name, model = parse_model(settings.model)
    profile = load_profile(name)
    protocol = find_protocol(settings.protocol, profile)
    if settings.api_key_env:
        profile = replace(profile, key_env=(settings.api_key_env,))
    if settings.serve or profile.hosting is Hosting.EMBEDDED:
        hosted = _hosted(settings, name, model, display, fetch=sends and fetches)
        key = _key(settings, profile, environ) if sends else None
        return Target(profile, protocol, hosted.name, key, (), hosted)
    urls = settings.base_url or ((profile.base_url,) if profile.base_url else ())
    if not urls:
        form = " or ".join(profile.forms) or "http://host:8000/v1"
        raise UsageError(f"{name} has no address of its own: give --base-url, such as {form}")
    addresses = tuple(dict.fromkeys(address_of(url, profile, protocol) for url in urls))
    key = _key(settings, profile, environ) if sends else None
    if key and profile.key_header == "Authorization" and any(address.credentials for address in addresses):
        raise UsageError(
            f"the address {addresses[0].public} comes with a user or password, and there is a key as well: "
            "both go into one header, so give one of them"
        )
    return Target(profile, protocol, model, key, addresses)


def address_of(base_url: str, profile: Profile, protocol: Protocol) -> Address:
    """The addresses of an endpoint that is asked by this protocol."""
    return parse_address(base_url, protocol.route_at(profile), look=protocol.look, at_root=protocol.at_root)


def _hosted(settings: RunSettings, provider: str, model: str, display: Display, *, fetch: bool) -> Hosted:
    """The model that m3ke serves itself for this run."""
    from m3ke_async.serving.hosted import engine_of, find_hosted

    engine = engine_of(provider)
    if engine is None:
        raise UsageError(f"--serve starts no {provider} server; give its address by --base-url")
    if settings.serve and settings.base_url:
        raise UsageError("--serve starts a server of its own, and --base-url names another: give one of them")
    return find_hosted(engine, model, display, fetch=fetch)


def _key(settings: RunSettings, profile: Profile, environ: Mapping[str, str]) -> str | None:
    for name in profile.key_env:
        if key := environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()) or " " in key:
                raise UsageError(
                    f"the key in {name} holds characters that no key has; copy it again, "
                    "without a space or a word such as Bearer before it"
                )
            return key
    if settings.api_key_env:
        raise UsageError(
            f"the environment variable {settings.api_key_env} is not set, and --api-key-env names it"
        )
    if profile.key_required:
        raise NoKeyError(
            f"no key for {profile.title}: set {' or '.join(profile.key_env)} in the environment, "
            "or name another variable by --api-key-env"
        )
    return None


def batch_saving(profile: Profile) -> str | None:
    """What a batch saves, with its source, in words; None where nobody knows."""
    batch = profile.batch
    if batch is None or batch.discount is None:
        return None
    known = next(fact for fact in profile.facts if fact.about == "batch")
    said = ", ".join(filter(None, (str(batch.on or ""), known.certainty, known.source)))
    return f"{batch.discount:.0%} off in a batch ({said})"


def batch_price(price: Price, profile: Profile) -> Price | None:
    """What tokens cost in a batch; None where nobody knows what it saves."""
    batch, saving = profile.batch, batch_saving(profile)
    if batch is None or batch.discount is None or saving is None:
        return None
    share, basis = 1.0 - batch.discount, f"{price.basis}, {saving}"
    return replace(price, prompt=price.prompt * share, completion=price.completion * share, basis=basis)


def price_of(settings: RunSettings, profile: Profile, model: str) -> Price | None:
    """What tokens cost: as the user says, else as the provider's file knows."""
    discount = profile.batch.discount if profile.batch else None
    if settings.price is not None:
        return replace(settings.price, discount=discount)
    known = next((price for price in profile.prices if price.model == model), None)
    if known is None:
        return None
    basis = f"the price of {known.on} ({known.source})"
    return Price(known.input, known.output, known.currency, basis, discount)
