"""Card: a client of pyACL that keeps the rules, for tests that break one of them at a time."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from acl_sim import World
from acl_sim.memory import reserved
from atc_sim.main import main
from onnx import TensorProto, helper

ROWS, WIDTH = 4, 6
SOC = "Ascend910B4"


def onnx_file(folder: Path, name: str = "double", opset: int = 17, op: str = "Add", **attributes: Any) -> Path:
    """y = x + x, of open batch."""
    value = [helper.make_tensor_value_info(key, TensorProto.FLOAT, ["batch", WIDTH]) for key in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x", "x"], ["y"], **attributes)], name, value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path


def atc(model: Path, *flags: str, soc: str = SOC) -> str:
    """What the command prints; in this process, as a new one takes its time to import onnx."""
    command = [f"--model={model}", "--framework=5", f"--output={model.with_suffix('')}", f"--soc_version={soc}"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([*command, *flags])
    return printed.getvalue()


def geared(folder: Path, name: str = "double") -> str:
    """An .om with the batch gears 1, 2 and 4."""
    model = onnx_file(folder, name)
    text = atc(model, f"--input_shape=x:-1,{WIDTH}", "--dynamic_batch_size=1,2,4", "--precision_mode_v2=origin")
    assert "ATC run success" in text, text
    return str(model.with_suffix(".om"))


class Card:
    """One model on one stream of a device, with a buffer for each of its inputs and outputs."""

    def __init__(self, world: World, path: str, device: int = 0, context: int = 0) -> None:
        self.world = world
        self.acl = acl = sys.modules["acl"]
        self.rt, self.mdl = acl.rt, acl.mdl
        acl.init()
        self.owned = not context
        self.context = context or self.got(self.rt.create_context(device))
        self.ok(self.rt.set_context(self.context))
        self.stream = self.got(self.rt.create_stream())
        self.model = self.got(self.mdl.load_from_file(path))
        self.desc = self.mdl.create_desc()
        self.ok(self.mdl.get_desc(self.desc, self.model))
        sizes = [self.mdl.get_input_size_by_index(self.desc, i) for i in range(self.mdl.get_num_inputs(self.desc))]
        self.inputs = [self.got(self.rt.malloc(size, 0)) for size in sizes]
        self.size = self.mdl.get_output_size_by_index(self.desc, 0)
        self.output = self.got(self.rt.malloc(self.size, 0))
        self.buffers: list[int] = []
        self.given = self.dataset(*zip(self.inputs, sizes))
        self.taken = self.dataset((self.output, self.size))
        self.pinned = self.got(self.rt.malloc_host(2 * reserved(self.size)))
        self.answer_at = self.pinned + reserved(self.size)
        self.x = acl.util.ptr_to_numpy(self.pinned, (ROWS, WIDTH), np.dtype("float32").num)
        self.y = acl.util.ptr_to_numpy(self.answer_at, (ROWS, WIDTH), np.dtype("float32").num)
        self.x[:] = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)

    def dataset(self, *pieces: tuple[int, int]) -> int:
        dataset: int = self.mdl.create_dataset()
        for address, size in pieces:
            self.buffers.append(self.acl.create_data_buffer(address, size))
            self.got(self.mdl.add_dataset_buffer(dataset, self.buffers[-1]))
        return dataset

    def copy_in(self) -> None:
        self.ok(self.rt.memcpy_async(self.inputs[0], self.size, self.pinned, self.size, 1, self.stream))

    def gear(self, rows: int) -> None:
        self.ok(self.mdl.set_dynamic_batch_size(self.model, self.given, 1, rows))

    def run(self) -> None:
        self.ok(self.mdl.execute_async(self.model, self.given, self.taken, self.stream))

    def copy_out(self) -> None:
        self.ok(self.rt.memcpy_async(self.answer_at, self.size, self.output, self.size, 2, self.stream))

    def enqueue(self) -> None:
        self.copy_in()
        self.run()
        self.copy_out()

    def wait(self) -> None:
        self.ok(self.rt.synchronize_stream(self.stream))

    def close(self) -> None:
        for dataset in (self.given, self.taken):
            self.ok(self.mdl.destroy_dataset(dataset))
        for buffer in self.buffers:
            self.ok(self.acl.destroy_data_buffer(buffer))
        for address in (*self.inputs, self.output):
            self.ok(self.rt.free(address))
        self.ok(self.rt.free_host(self.pinned))
        self.ok(self.mdl.destroy_desc(self.desc))
        self.ok(self.mdl.unload(self.model))
        self.ok(self.rt.destroy_stream(self.stream))
        if self.owned:
            self.ok(self.rt.destroy_context(self.context))

    @staticmethod
    def ok(code: int) -> None:
        assert code == 0, code

    @staticmethod
    def got(result: tuple[int, int]) -> int:
        value, code = result
        assert code == 0, code
        return value
