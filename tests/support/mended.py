"""A model mended by `ge_engine.inspect.repair`, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from ge_engine.inspect import facts_of
from ge_engine.inspect.file_facts import port_of
from ge_engine.inspect.mended_file import write_mended
from ge_engine.inspect.repair import Fixed, Repaired, repair
from ops import Array


@dataclass(frozen=True)
class Mended:
    """made: the fixes that were made, by name."""

    repaired: Repaired
    made: Mapping[str, Fixed]
    path: Path

    @property
    def model(self) -> onnx.ModelProto:
        return onnx.load(self.path)

    @property
    def ends(self) -> dict[str, str]:
        """Each input and output as text."""
        model = onnx.load(self.path, load_external_data=False)
        return {value.name: str(port_of(value, None)) for value in (*model.graph.input, *model.graph.output)}

    @property
    def operators(self) -> list[str]:
        return [node.op_type for node in self.model.graph.node]

    def __call__(self, **arrays: Array) -> dict[str, Array]:
        return run(self.path, **arrays)


def mended(
    path: Path,
    batches: Sequence[int] | None = None,
    sizes: Sequence[Mapping[str, int]] = (),
    skip: Collection[str] = (),
) -> Mended:
    """Mend a file, and write the copy beside it."""
    facts = facts_of(str(path), batches, sizes)
    folder = path.parent / "on_the_way"
    folder.mkdir(exist_ok=True)
    repaired = repair(facts, batches, sizes, folder, skip)
    out = path.with_name(f"mended_{path.name}")
    write_mended(repaired.model, out, apart=bool(facts.file.data_files))
    onnx.checker.check_model(str(out))
    return Mended(repaired, {fixed.name: fixed for fixed in repaired.fixes if fixed.proof is not None}, out)


def run(path: Path, **arrays: Array) -> dict[str, Array]:
    """What ONNX Runtime makes of a file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, map(np.asarray, session.run(names, arrays))))
