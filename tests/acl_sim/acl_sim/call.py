"""Call: what every function of `acl` has in common: its lock, its rules, its faults, the shape of what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from .codes import CONTEXT_NULL
from .violation import Violation

if TYPE_CHECKING:
    from .world import World

F = TypeVar("F", bound=Callable[..., Any])


class Refused(Exception):
    """The call returns this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Manner(NamedTuple):
    """values: how many a function returns before the code; None for one that returns a bare value."""

    values: int | None
    context: bool
    init: bool
    releases: bool


def call(
    values: int | None = 0, *, context: bool = True, init: bool = True, releases: bool = False
) -> Callable[[F], F]:
    """Marks a method as a function of `acl`. releases: it ends the life of its first argument."""

    def mark(method: F) -> F:
        method.__dict__["manner"] = Manner(values, context, init, releases)
        return method

    return mark


def shaped(values: int | None, code: int) -> Any:
    """What a function returns that failed."""
    if values is None:
        return 0
    return (0,) * values + (code,) if values else code


def bound(world: World, prefix: str, part: object) -> dict[str, Callable[..., Any]]:
    """The functions of one part of `acl`, by name."""
    found = {}
    for name in dir(part):
        manner = getattr(getattr(part, name), "manner", None)
        if manner is not None:
            found[name] = _function(world, f"{prefix}{name}", getattr(part, name), manner)
    return found


def _function(world: World, name: str, method: Callable[..., Any], manner: Manner) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        with world.lock:
            try:
                return _called(world, name, method, manner, arguments)
            except Refused as refused:
                world.said = f"acl_sim: {name} returned {refused.code}"
                return shaped(manner.values, refused.code)
            except Violation as violation:
                world.violations.append(str(violation))
                raise

    function.__name__ = function.__qualname__ = name
    return function


def _called(world: World, name: str, method: Callable[..., Any], manner: Manner, arguments: tuple[Any, ...]) -> Any:
    world.queues.clock.pass_(world.queues.timing.call_us)
    fault = world.faults.take(name)
    for argument in arguments:
        if isinstance(argument, np.generic):
            raise TypeError(f"{name}: {argument!r} is {type(argument).__name__}; pyACL takes Python's own numbers")
    if manner.init and not world.initialised:
        raise Violation("S1", f"{name} before acl.init")
    if manner.context and world.context is None:
        raise Refused(CONTEXT_NULL)
    if fault is not None:
        world.failed(manner, arguments)
        raise Refused(fault.code)
    return method(*arguments)
