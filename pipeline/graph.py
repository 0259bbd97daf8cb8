"""Graph: the frozen, typed form of a pipeline. Only validate makes one; nothing later checks again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ops import Array, Finding, TensorSpec, Where
from ops.host_stage import Step

from .declaration import Input


@dataclass(frozen=True)
class GraphOutput:
    """A value that every answer holds: the value `key`, under the user's name."""

    name: str
    key: str
    spec: TensorSpec
    where: Where


@dataclass(frozen=True, eq=False)
class Graph:
    """Steps in topological order, joined by keys.

    A key names a value: an input or a constant by its name; the one output of an op by its node's name, one of several
    as "node.output"; a Model's output by its ONNX name where no other value has it.
    """

    name: str
    where: Where
    inputs: tuple[Input, ...]
    constants: Mapping[str, Array]
    steps: tuple[Step, ...]
    outputs: tuple[GraphOutput, ...]
    advice: tuple[Finding, ...] = ()

    @property
    def specs(self) -> dict[str, TensorSpec]:
        """The spec of every value, by key."""
        specs = {value.name: value.spec for value in self.inputs}
        specs.update({name: TensorSpec(array.dtype, array.shape) for name, array in self.constants.items()})
        specs.update({key: spec for step in self.steps for key, _, spec in step.outputs})
        return specs

    def consumers(self) -> dict[str, list[Step]]:
        """The steps that read each value."""
        readers: dict[str, list[Step]] = {key: [] for key in self.specs}
        for step in self.steps:
            for key in step.inputs:
                readers[key].append(step)
        return readers

    def __str__(self) -> str:
        inputs = ", ".join(f"{value.name} {value.spec}" for value in self.inputs)
        outputs = ", ".join(f"{value.name} {value.spec}" for value in self.outputs)
        return f"{self.name}: {inputs} -> {outputs}"
