"""acl.mdl: models, what they are made of, datasets, and runs."""

from __future__ import annotations

import numpy as np

from . import loading
from .call import Refused, call
from .codes import GEAR_INVALID, INVALID_MODEL_ID, INVALID_PARAM, MODEL_NOT_DYNAMIC
from .memory import Access, pageable
from .model import DataBuffer, Dataset, Model, apart, is_gear_input
from .rt import stream_of
from .streams import Stream, ordered
from .violation import Violation
from .world import World


class Mdl:
    def __init__(self, world: World) -> None:
        self._world = world

    @call(1)
    def load_from_file(self, path: str) -> tuple[int, int]:
        return loading.load(self._world, loading.readable(self._world, path)), 0

    @call(1)
    def load_from_mem(self, address: int, size: int) -> tuple[int, int]:
        """From memory of the host."""
        if self._world.memory.is_device(address):
            raise Violation("S14", f"load_from_mem of {address:#x}, which is device memory")
        content = pageable(address, size).tobytes()
        return loading.load(self._world, loading.fitting(self._world, content)), 0

    @call(2, context=False)
    def query_size(self, path: str) -> tuple[int, int, int]:
        om = loading.readable(self._world, path)
        return loading.work_size(om), loading.weight_size(om), 0

    @call(releases=True)
    def unload(self, model: int) -> int:
        found = self._model(model)
        self._here(found, "unload")
        self._world.end(Model, model)
        self._world.memory.used[found.context.device] -= found.hbm
        return 0

    # Datasets.

    @call(None, context=False)
    def create_dataset(self) -> int:
        return self._world.add(Dataset(self._world.new_handle())).handle

    @call(context=False, releases=True)
    def destroy_dataset(self, dataset: int) -> int:
        self._world.end(Dataset, dataset)
        return 0

    @call(1, context=False)
    def add_dataset_buffer(self, dataset: int, buffer: int) -> tuple[int, int]:
        self._world.get(Dataset, dataset).buffers.append(self._world.get(DataBuffer, buffer))
        return dataset, 0

    @call(None, context=False)
    def get_dataset_buffer(self, dataset: int, index: int) -> int:
        buffers = self._world.get(Dataset, dataset).buffers
        return buffers[index].handle if 0 <= index < len(buffers) else 0

    @call(None, context=False)
    def get_dataset_num_buffers(self, dataset: int) -> int:
        return len(self._world.get(Dataset, dataset).buffers)

    # Gears.

    @call()
    def set_dynamic_batch_size(self, model: int, dataset: int, index: int, batch: int) -> int:
        return self._set(model, dataset, index, "batch", (batch,))

    @call()
    def set_dynamic_hw_size(self, model: int, dataset: int, index: int, height: int, width: int) -> int:
        return self._set(model, dataset, index, "hw", (height, width))

    @call()
    def set_input_dynamic_dims(self, model: int, dataset: int, index: int, dims: dict[str, object]) -> int:
        """dims: of all inputs, one behind the other."""
        values = dims["dims"]
        if not isinstance(values, list) or dims["dimCount"] != len(values) or "name" not in dims:
            raise Refused(INVALID_PARAM)
        return self._set(model, dataset, index, "dims", tuple(values))

    # Runs.

    @call()
    def execute(self, model: int, inputs: int, outputs: int) -> int:
        found, given = self._prepared(model, inputs, outputs)
        self._world.queues.check(tuple(given[0] + given[1]), f"execute of {found.om.name}")
        self._alone(found, None)
        queues, scale = self._world.queues, self._scale(found, given[0])
        queues.clock.pass_(queues.timing.running(found.om.name, scale, 1, self._cores(found)))
        return self._run(found, given)[0]

    @call()
    def execute_async(self, model: int, inputs: int, outputs: int, stream: int) -> int:
        queues, on = self._world.queues, stream_of(self._world, stream)
        found, given = self._prepared(model, inputs, outputs)
        self._alone(found, on)
        queues.clock.pass_(queues.timing.launch_us)
        scale = self._scale(found, given[0])

        def work() -> int:
            code, sticky = self._run(found, given)
            on.sticky = sticky or on.sticky
            return code

        queues.enqueue(
            "run",
            on,
            tuple(given[0] + given[1]),
            work,
            what=found.om.name,
            holds={
                model,
                *self._world.get(Dataset, inputs).handles,
                *self._world.get(Dataset, outputs).handles,
            },
            duration=lambda busy: queues.timing.running(found.om.name, scale, busy, self._cores(found)),
            model=model,
        )
        return 0

    def _run(self, model: Model, given: tuple[list[Access], list[Access]]) -> tuple[int, bool]:
        fault = self._world.faults.take("device.run")
        if fault is not None:
            return fault.code, fault.sticky
        return model.run(*given), False

    def _prepared(self, model: int, inputs: int, outputs: int) -> tuple[Model, tuple[list[Access], list[Access]]]:
        found = self._model(model)
        self._here(found, "execute")
        sets = self._world.get(Dataset, inputs), self._world.get(Dataset, outputs)
        given = []
        for kind, dataset in zip(("input", "output"), sets):
            for buffer in dataset.buffers:
                self._world.get(DataBuffer, buffer.handle)
            code, accesses = found.check(self._world.memory, kind, dataset.ranges)
            if code:
                raise Refused(code)
            given.append(accesses)
        apart(given[0] + given[1])
        return found, (given[0], given[1])

    def _alone(self, model: Model, on: Stream | None) -> None:
        """Errors: Violation (S8) where the model is under way on another stream."""
        for op in self._world.queues.pending:
            if op.model == model.handle and not ordered(op, on):
                where = f"stream {op.stream.index}"
                raise Violation(
                    "S8", f"model {model.om.name} ({model.handle:#x}) runs on {where} already: load it twice"
                )

    def _set(self, model: int, dataset: int, index: int, kind: str, values: tuple[int, ...]) -> int:
        found = self._model(model)
        if found.om.kind != kind:
            raise Refused(MODEL_NOT_DYNAMIC)
        buffers = self._world.get(Dataset, dataset).buffers
        if not is_gear_input(found, index) or index >= len(buffers):
            raise Refused(INVALID_PARAM)
        gear = found.find_gear(values)
        if gear is None:
            raise Refused(GEAR_INVALID)
        if buffers[index].size < found.input_size(index):
            raise Refused(INVALID_PARAM)
        data = np.array(found.gear_values(gear), np.int64).view(np.uint8)
        what = f"the gear of {found.om.name}"
        access = self._world.memory.access(buffers[index].address, len(data), True, what)
        self._world.queues.check((access,), f"setting {what}")
        access.bytes[:] = data
        access.touch()
        found.gear = gear
        return 0

    def _scale(self, model: Model, inputs: list[Access]) -> float:
        """How much larger the gear is than the smallest; the one that is set now."""
        if not model.om.gears:
            return 1.0
        gear = model.gear_of(inputs)
        volumes = [model.om.volume(gear) for gear in range(len(model.om.gears))]
        return volumes[gear if gear is not None else model.om.largest] / min(volumes)

    @staticmethod
    def _cores(model: Model) -> str | None:
        return model.om.options.get("aicore_num")

    def _model(self, handle: int) -> Model:
        found = self._world.handles.get(handle)
        if not isinstance(found, Model):
            raise Refused(INVALID_MODEL_ID)
        return found

    def _here(self, model: Model, what: str) -> None:
        if model.context is not self._world.current:
            raise Violation("S2", f"{what} of model {model.om.name} in another context than the one it was loaded in")
