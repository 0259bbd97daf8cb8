"""The module `acl` and its parts, made of a world."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .base import Base
from .call import bound
from .mdl import Mdl
from .mdl_desc import MdlDesc
from .rt import Rt
from .rt_memory import RtMemory
from .util import Util
from .world import World


def build(world: World) -> ModuleType:
    acl = _module("acl", bound(world, "", Base(world)))
    parts = {"rt": (Rt(world), RtMemory(world)), "mdl": (Mdl(world), MdlDesc(world)), "util": (Util(world),)}
    for name, sources in parts.items():
        functions: dict[str, Any] = {}
        for source in sources:
            functions.update(bound(world, f"{name}.", source))
        setattr(acl, name, _module(f"acl.{name}", functions))
    return acl


def _module(name: str, functions: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(functions)
    return module
