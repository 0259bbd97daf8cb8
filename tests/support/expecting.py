"""`expect`: one call that holds an op to everything an op promises."""

from __future__ import annotations

import importlib.util
import json
from typing import Any, Protocol

import numpy as np

import ops  # noqa: F401  # registers the built-in ops
from ops.host_stage import HostStage, Step, same_memory
from ops.op import Lowerable, Op
from ops.serial import op_from_json, op_to_json
from ops.spec import Array, TensorSpec

HAS_ONNX = importlib.util.find_spec("onnxruntime") is not None  # absent where `ops` is tested alone


class Expect(Protocol):
    def __call__(
        self, op: Op[Any], *arrays: Any, want: Any = None, atol: float = 0, rtol: float = 0, lower_atol: float = 0
    ) -> Any: ...


def spec_of(value: Any) -> TensorSpec:
    return TensorSpec("bytes", ()) if isinstance(value, bytes) else TensorSpec(value.dtype, value.shape)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def expect(op: Op[Any], *arrays: Any, want: Any = None, atol: float = 0, rtol: float = 0, lower_atol: float = 0) -> Any:
    """Run an op on one sample, hold it to its promises, and return what it made.

    - infer tells the truth about run (dtype and shape);
    - out= is written in place, gives the same bytes, and leaves the neighbouring rows alone;
    - the inputs are left as they were;
    - the JSON form reads back to an equal op;
    - `want` (from a named reference) is met within atol + rtol * |want|, exactly by default;
    - lower, through ONNX Runtime at gears 1 and 3 and opsets 13 and 17, agrees with run row by row within lower_atol,
      and within what the op itself says: lowered_within.
    """

    specs = [spec_of(array) for array in arrays]
    out_specs = as_tuple(op.infer(*specs))
    before = [array if isinstance(array, bytes) else array.copy() for array in arrays]
    keys = tuple(f"in{i}" for i in range(len(arrays)))
    outputs = tuple((f"out{i}", n, s) for i, (n, s) in enumerate(zip(op.output_names, out_specs)))
    stage = HostStage([Step("node", op, keys, outputs, "test.py:1")], frozenset(o[0] for o in outputs))

    def run(out: dict[str, Array]) -> tuple[Any, ...]:
        values = dict(zip(keys, arrays))
        stage.run(values, out)
        return tuple(values[key] for key, _, _ in outputs)

    results = run({})
    for array, old in zip(arrays, before):
        assert array is old or array.tobytes() == old.tobytes(), "run changed its input"

    for index, result in enumerate(results):
        if isinstance(result, np.ndarray) and not out_specs[index].counted and result.dtype != object:
            block = np.full((3, *result.shape), 77, result.dtype)
            values = dict(zip(keys, arrays))
            copied = stage.run(values, {f"out{index}": block[1]})
            assert copied == 0, f"output {index} was not written in place"
            assert same_memory(values[f"out{index}"], block[1])
            assert block[1].tobytes() == result.tobytes()
            assert (block[[0, 2]] == block.dtype.type(77)).all(), "run wrote beside its row"

    assert op_from_json(json.loads(json.dumps(op_to_json(op, "/"))), "/") == op

    if want is not None:
        for result, wanted in zip(results, as_tuple(want)):
            if isinstance(wanted, np.ndarray):
                assert result.shape == wanted.shape
                assert result.dtype == wanted.dtype
                np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol, atol)
            else:
                assert result == wanted

    if HAS_ONNX and isinstance(op, Lowerable):
        for opset in (13, 17):
            for gear in (1, 3):
                for got, result in zip(run_lowered(op, specs, out_specs, arrays, opset, gear), results):
                    assert got.shape == (gear, *result.shape)
                    assert got.dtype == result.dtype
                    for row in got:
                        np.testing.assert_allclose(row, result, rtol=0, atol=lower_atol)
                        if op.lowered_within is not None:
                            largest = np.abs(result, where=np.isfinite(result), out=np.zeros(result.shape)).max(
                                initial=0
                            )
                            np.testing.assert_allclose(row, result, rtol=0, atol=op.lowered_within * largest)
    return results[0] if len(results) == 1 else results


def run_lowered(
    op: Any,
    specs: list[TensorSpec],
    out_specs: tuple[TensorSpec, ...],
    arrays: tuple[Array, ...],
    opset: int,
    gear: int,
) -> list[Array]:
    import onnx
    import onnxruntime

    from ge_engine.builder import GraphBuilder

    g = GraphBuilder(opset)
    values = as_tuple(op.lower(g, *(g.input(f"in{i}", spec) for i, spec in enumerate(specs))))
    for i, (value, spec) in enumerate(zip(values, out_specs)):
        g.output(f"out{i}", value, spec)
    model = g.model()
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {f"in{i}": np.stack([array] * gear) for i, array in enumerate(arrays)}
    return list(session.run(None, feeds))
