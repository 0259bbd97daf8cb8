"""The parameters of an npu_ge model, read as the backend reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ge_engine.npu_ge.gears import GEAR_KEYS
from ge_engine.npu_ge.options import stoi

from ..config import instances_of
from ..model import Model
from ..problem import Place


@dataclass
class Options:
    """What `parameters` of one model say."""

    model: Model

    @cached_property
    def values(self) -> dict[str, str]:
        """Every parameter, as it is written."""
        return {key: value.string_value for key, value in sorted(self.model.config.parameters.items())}

    def option(self, name: str) -> str | None:
        """A GE option, wherever it is set; the graph's wins."""
        return self.values.get(f"graph.{name}", self.values.get(f"session.{name}"))

    def keys_of(self, name: str) -> list[str]:
        """The keys under which a GE option is set where GE sees it."""
        return [f"{scope}.{name}" for scope in ("session", "graph") if f"{scope}.{name}" in self.values]

    def place(self, key: str) -> Place:
        """Where a key stands."""
        entries = [entry for entry in self.model.outline.all("parameters") if entry.string("key") == key]
        return Place(self.model.folder.config_path, entries[-1].line) if entries else self.model.at("parameters")

    def place_of(self, name: str) -> Place:
        """Where a GE option stands."""
        keys = self.keys_of(name)
        return self.place(keys[-1]) if keys else self.model.at("parameters")

    @property
    def static(self) -> bool:
        """Whether the model is compiled as one static graph: written, or all dims are fixed and there is no batch."""
        return stoi(self.values.get("static_model", "0")) == 1

    @property
    def geared(self) -> bool:
        """Whether any of the three options of gears is set."""
        return any(map(self.keys_of, GEAR_KEYS))

    @cached_property
    def devices(self) -> int:
        """How many cards are named; 1 where none is, for nobody can know."""
        return max(1, len([item for item in self.values.get("device_ids", "").split(",") if item.strip()]))

    @cached_property
    def instances(self) -> int:
        return instances_of(self.model.config)

    @cached_property
    def streams(self) -> int:
        """Streams of a card."""
        blocks = stoi(self.values.get("device_exec_blocks", "-1"))
        return blocks if blocks and blocks > 0 else -(-self.instances // self.devices)
