"""npu_ge."""

from __future__ import annotations
from collections.abc import Iterator, Mapping
from ..model import Model
from ..problem import Problem


def check_npu_ge(model: Model) -> Iterator[Problem]:
    """x"""
    yield from ()


def check_environment(environment: Mapping[str, str]) -> Iterator[Problem]:
    """x"""
    yield from ()
