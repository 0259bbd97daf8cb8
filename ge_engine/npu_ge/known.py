"""Known: what a configuration and a model's file say together, before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .gears import Gears
from .mode import ANY_BATCH, Mode, mode_of, takes_any_batch
from .options import Options
from .ports import Ports


@dataclass(frozen=True)
class Known:
    """config, model: the ports as config.pbtxt (completed) and as the ONNX file have them.

    preferred: the batcher has preferred sizes; Triton writes [max_batch_size] where none is given. auto_complete: the
    server completes configurations, and names of dims are read.
    """

    name: str
    max_batch_size: int
    config: Ports
    model: Ports
    options: Options
    mode: Mode
    preferred: bool
    gears: Gears | None
    auto_complete: bool = True

    @classmethod
    def of(
        cls,
        config: Mapping[str, Any],
        model: Ports,
        options: Options,
        gears: Gears | None = None,
        auto_complete: bool = True,
    ) -> Known:
        ports = Ports.of_config(config)
        max_batch_size = int(config.get("max_batch_size", 0))
        return cls(
            config["name"],
            max_batch_size,
            ports,
            model,
            options,
            mode_of(max_batch_size, ports, model),
            bool(config.get("dynamic_batching", {}).get("preferred_batch_size")),
            gears,
            auto_complete,
        )

    @property
    def combines(self) -> bool:
        """Whether the requests of a batch run as one."""
        return self.preferred and self.mode is Mode.MAX_BATCH

    @property
    def fixed(self) -> bool:
        """Whether npu_ge makes the graph static by itself, because no dim varies."""
        return self.max_batch_size == 0 and (_all_fixed(self.config) or _all_fixed(self.model))

    @property
    def covered(self) -> bool:
        """Whether no request can be outside the gears: only the batch varies, and each one that can arrive has one."""
        if self.gears is None or self.max_batch_size == 0 or any(-1 in port.dims for port in self.config.inputs):
            return False
        samples = {tuple(shape[1:] for shape in shapes) for shapes in self.gears.shapes}
        return len(samples) == 1 and self.gears.batches() >= set(range(1, self.max_batch_size + 1))

    @property
    def row_by_row(self) -> bool:
        """Whether a static graph of batch 1 runs once for each row."""
        static = self.options.static_model or self.fixed
        return static and (self.max_batch_size > 0 or (self.mode in ANY_BATCH and takes_any_batch(self.model)))


def _all_fixed(ports: Ports) -> bool:
    every = (*ports.inputs, *ports.outputs)
    return bool(ports.inputs and ports.outputs) and not any(-1 in port.dims for port in every)
