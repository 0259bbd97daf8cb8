"""acl.mdl, what a desc tells of a model."""

from __future__ import annotations

import numpy as np

from .call import Refused, call
from .codes import DATA_TYPES, GEAR_INPUT, INVALID_MODEL_ID, INVALID_PARAM, NCHW, ND
from .model import Desc, Model, input_name, is_gear_input
from .violation import Violation
from .world import World


class MdlDesc:
    def __init__(self, world: World) -> None:
        self._world = world

    @call(None, context=False)
    def create_desc(self) -> int:
        return self._world.add(Desc(self._world.new_handle())).handle

    @call(context=False)
    def get_desc(self, desc: int, model: int) -> int:
        found = self._world.handles.get(model)
        if not isinstance(found, Model):
            raise Refused(INVALID_MODEL_ID)
        self._world.get(Desc, desc).model = found
        return 0

    @call(context=False, releases=True)
    def destroy_desc(self, desc: int) -> int:
        self._world.end(Desc, desc)
        return 0

    @call(None, context=False)
    def get_num_inputs(self, desc: int) -> int:
        return self._of(desc).input_count

    @call(None, context=False)
    def get_num_outputs(self, desc: int) -> int:
        return len(self._of(desc).om.outputs)

    @call(None, context=False)
    def get_input_size_by_index(self, desc: int, index: int) -> int:
        model = self._of(desc)
        return model.input_size(index) if 0 <= index < model.input_count else 0

    @call(None, context=False)
    def get_output_size_by_index(self, desc: int, index: int) -> int:
        model = self._of(desc)
        return model.output_size(index) if 0 <= index < len(model.om.outputs) else 0

    @call(1, context=False)
    def get_input_dims(self, desc: int, index: int) -> tuple[dict[str, object], int]:
        """-1 for what the gears give."""
        model = self._of(desc)
        self._inside(index, model.input_count)
        if is_gear_input(model, index):
            return dims(GEAR_INPUT, [model.gear_width]), 0
        shapes = model.om.inputs[index].shapes
        open_ = [len({shape[axis] for shape in shapes}) > 1 for axis in range(len(shapes[0]))]
        return dims(input_name(model, index), [-1 if hole else dim for hole, dim in zip(open_, shapes[0])]), 0

    get_input_dims_v2 = get_input_dims

    @call(1, context=False)
    def get_output_dims(self, desc: int, index: int) -> tuple[dict[str, object], int]:
        model = self._of(desc)
        self._inside(index, len(model.om.outputs))
        return dims(model.om.outputs[index].name, list(model.om.outputs[index].shapes[model.om.largest])), 0

    @call(1, context=False)
    def get_cur_output_dims(self, desc: int, index: int) -> tuple[dict[str, object], int]:
        model = self._of(desc)
        self._inside(index, len(model.om.outputs))
        gear = model.gear if model.gear >= 0 else model.om.largest
        return dims(model.om.outputs[index].name, list(model.om.outputs[index].shapes[gear])), 0

    @call(None, context=False)
    def get_input_data_type(self, desc: int, index: int) -> int:
        model = self._of(desc)
        if is_gear_input(model, index):
            return DATA_TYPES[np.dtype("int64")]
        return DATA_TYPES[np.dtype(model.om.inputs[index].dtype)]

    @call(None, context=False)
    def get_output_data_type(self, desc: int, index: int) -> int:
        return DATA_TYPES[np.dtype(self._of(desc).om.outputs[index].dtype)]

    @call(None, context=False)
    def get_input_format(self, desc: int, index: int) -> int:
        return NCHW if self._of(desc).om.format == "NCHW" else ND

    @call(None, context=False)
    def get_output_format(self, desc: int, index: int) -> int:
        return ND

    @call(None, context=False)
    def get_input_name_by_index(self, desc: int, index: int) -> str:
        model = self._of(desc)
        return input_name(model, index) if 0 <= index < model.input_count else ""

    @call(None, context=False)
    def get_output_name_by_index(self, desc: int, index: int) -> str:
        outputs = self._of(desc).om.outputs
        return outputs[index].name if 0 <= index < len(outputs) else ""

    @call(1, context=False)
    def get_input_index_by_name(self, desc: int, name: str) -> tuple[int, int]:
        model = self._of(desc)
        names = [input_name(model, index) for index in range(model.input_count)]
        if name not in names:
            raise Refused(INVALID_PARAM)
        return names.index(name), 0

    @call(1, context=False)
    def get_output_index_by_name(self, desc: int, name: str) -> tuple[int, int]:
        names = [port.name for port in self._of(desc).om.outputs]
        if name not in names:
            raise Refused(INVALID_PARAM)
        return names.index(name), 0

    @call(1, context=False)
    def get_dynamic_batch(self, desc: int) -> tuple[dict[str, object], int]:
        om = self._of(desc).om
        batches = [gear[0] for gear in om.gears] if om.kind == "batch" else []
        return {"batchCount": len(batches), "batch": batches}, 0

    @call(1, context=False)
    def get_dynamic_hw(self, desc: int, index: int) -> tuple[dict[str, object], int]:
        om = self._of(desc).om
        sizes = [list(gear) for gear in om.gears] if om.kind == "hw" else []
        return {"hwCount": len(sizes), "hw": sizes}, 0

    @call(1, context=False)
    def get_input_dynamic_gear_count(self, desc: int, index: int) -> tuple[int, int]:
        om = self._of(desc).om
        return (len(om.gears) if om.kind == "dims" else 0), 0

    @call(1, context=False)
    def get_input_dynamic_dims(self, desc: int, index: int, count: int) -> tuple[list[dict[str, object]], int]:
        model = self._of(desc)
        if model.om.kind != "dims" or count != len(model.om.gears):
            raise Refused(INVALID_PARAM)
        return [dims("", list(model.gear_values(gear))) for gear in range(count)], 0

    def _of(self, desc: int) -> Model:
        found = self._world.get(Desc, desc)
        if found.model is None or found.model.handle not in self._world.handles:
            raise Violation("S4", f"desc {desc:#x} is of no model that is loaded")
        return found.model

    @staticmethod
    def _inside(index: int, count: int) -> None:
        if not 0 <= index < count:
            raise Refused(INVALID_PARAM)


def dims(name: str, values: list[int]) -> dict[str, object]:
    return {"name": name, "dimCount": len(values), "dims": values}
