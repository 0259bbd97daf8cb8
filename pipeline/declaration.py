"""Declaration: what a user wrote, in the user's order. It may be wrong; validate says how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from ops import Array, Finding, Op, TensorSpec, Where

Ref = tuple[int, str]  # an entry of the declaration, and the output of it ("" stands for the first)


@dataclass(frozen=True)
class Input:
    """A value that every sample brings."""

    name: str
    spec: TensorSpec
    where: Where


@dataclass(frozen=True)
class Constant:
    """A value that is the same for every sample."""

    name: str
    array: Array
    where: Where


@dataclass(frozen=True)
class Node:
    """An op's place in the DAG. A reference is None where it cannot be followed (a finding says why).

    name: as the user gave it, or None.
    """

    op: Op[Any]
    inputs: tuple[Ref | None, ...]
    named: dict[str, Ref | None]
    name: str | None
    where: Where


@dataclass(frozen=True)
class Output:
    """A value that every answer holds."""

    name: str
    ref: Ref | None
    where: Where


Entry = Union[Input, Constant, Node]


@dataclass
class Declaration:
    """What was declared, in the user's order; it may be wrong.

    findings: what was wrong with the way it was put together. incomplete: something in it could not be followed, so
    what seems unused may be what was meant.
    """

    name: str
    where: Where
    entries: list[Entry] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    incomplete: bool = False
