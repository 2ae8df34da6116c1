"""Attributes that are worked out when they are first asked for.

As `functools.cached_property`, without the lock that it takes at every first use before Python 3.12: a good
part of the time that a short reply needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - a decorator
    """Makes a method an attribute that is worked out once for each object."""

    def __init__(self, work_out: Callable[..., T]) -> None:
        self._work_out, self._name = work_out, work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[T]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: object, kind: type) -> lazy[T] | T:
        """Work it out, and leave it where the next look finds it first."""
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work_out(owner)
        return value
