"""The configs of an export: one for each composing model, and the ensemble's, as ModelConfig messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ge_engine.gears import Gear, Gears
from ge_engine.model import Model
from ge_engine.npu_ge.ports import UNKNOWN
from ops import ExportError

from ..deployment import Deployment
from ..plan import Plan
from .ensemble import Composing, Ensemble, ensemble_of
from .schema import model_config
from .tensor import triton_type

UNKNOWN_TO = {"npu_ge": UNKNOWN, "python": ("bfloat16",)}  # the last: numpy has none
MOST_GEARS = 16  # of one model: GE takes 100, and compiles each of them for each stream


def host_config(model: Composing, name: str, ensemble: Ensemble, deployment: Deployment, environment: str) -> Any:
    """A host stage: Triton's Python backend."""
    config = _composing_config(model, name, ensemble, deployment, "python", deployment.host_instances)
    if environment:
        config.parameters["EXECUTION_ENV_PATH"].string_value = environment
    return config


def device_config(model: Composing, name: str, ensemble: Ensemble, plan: Plan) -> Any:
    """A device stage: npu_ge, or the backend that the Deployment names.

    Errors: ExportError when a batcher could form sizes that are no gears.
    """
    deployment = plan.deployment
    built = plan.built[model.stage.name]
    on_npu = deployment.model_backend == "npu_ge"
    instances = deployment.streams * (len(deployment.device_ids) if on_npu else 1)
    config = _composing_config(model, name, ensemble, deployment, deployment.model_backend, instances)
    if ensemble.max_batch_size:
        batching = config.dynamic_batching
        preferred = [size for size in deployment.batching.preferred if size <= ensemble.max_batch_size]
        batching.preferred_batch_size.extend(preferred or _preferred(built.gears.batches, ensemble.max_batch_size))
        if deployment.batching.max_delay_us:
            batching.max_queue_delay_microseconds = deployment.batching.max_delay_us
    if deployment.warmup:
        _add_warmup(config, model, ensemble, built.gears)
    if not on_npu:
        return config
    for key, value in _npu_options(model, ensemble, plan).items():
        config.parameters[key].string_value = value
    return config


def other_gears(plan: Plan) -> list[str]:
    """A line for each stage that npu_ge compiles for other gears than it was given."""
    if plan.deployment.model_backend != "npu_ge":
        return []
    sized = [
        f"{stage.name}: gears {','.join(map(str, stage.batches))}: it has the sizes "
        f"{', '.join(map(str, plan.built[stage.name].gears))}, each of which npu_ge compiles for one sample"
        for stage in plan.stages
        if stage.on_device and plan.built[stage.name].gears.sizes and stage.batches != (1,)
    ]
    limit = ensemble_of(plan).max_batch_size
    if not limit:
        return sized
    every = tuple(range(1, limit + 1))
    given = {stage.name: plan.built[stage.name].gears.batches for stage in plan.stages if stage.on_device}
    return [
        f"{name}: gears {','.join(map(str, gears))}: a server merges to any size, "
        f"so {','.join(map(str, every))} are compiled"
        for name, gears in given.items()
        if gears != every
    ]


def ensemble_config(ensemble: Ensemble, name: str, models: Mapping[str, str], deployment: Deployment) -> Any:
    """The ensemble. models: for each stage, the name of its composing model."""
    config = model_config(deployment.target)(name=name, platform="ensemble", max_batch_size=ensemble.max_batch_size)
    _add_tensors(config, ensemble, ensemble)
    for model in ensemble.models:
        step = config.ensemble_scheduling.step.add(model_name=models[model.stage.name], model_version=-1)
        for tensor in model.inputs:
            step.input_map[tensor.name] = tensor.joined
        for tensor in model.outputs:
            step.output_map[tensor.name] = tensor.joined
    for key, labels in _labels(ensemble).items():
        config.parameters[key].string_value = json.dumps(labels, ensure_ascii=False)
    if deployment.response_cache:
        config.response_cache.enable = True
    return config


def class_names(model: Composing, ensemble: Ensemble) -> dict[str, tuple[str, ...]]:
    """For each output with one float a class of a model with labels, those: a server names the best k by them."""
    known = {len(labels): labels for labels in _labels(ensemble).values()}
    return {
        tensor.name: known[classes]
        for tensor in model.outputs
        for classes in tensor.spec.shape
        if tensor.spec.dtype == "float32" and tensor.spec.rank == 1 and classes in known
    }


def label_file(output: str) -> str:
    """The file of the labels of an output, in the model's folder."""
    return f"{output}.labels.txt"


def _labels(ensemble: Ensemble) -> dict[str, tuple[str, ...]]:
    """The names of the classes, for each model that has some: a client asks the server for them."""
    ops = [step.op for model in ensemble.models for step in model.steps]
    return {f"labels.{op.model_name}": op.labels for op in ops if isinstance(op, Model) and op.labels}


def _composing_config(
    model: Composing, name: str, ensemble: Ensemble, deployment: Deployment, backend: str, instances: int
) -> Any:
    config = model_config(deployment.target)(name=name, backend=backend, max_batch_size=ensemble.max_batch_size)
    _check_types(model, backend)
    _add_tensors(config, model, ensemble)
    for output in config.output:
        if output.name in class_names(model, ensemble):
            output.label_filename = label_file(output.name)
    config.instance_group.add(count=instances, kind="KIND_CPU")
    if deployment.response_cache:
        config.response_cache.enable = True
    return config


def _check_types(model: Composing, backend: str) -> None:
    for tensor in (*model.inputs, *model.outputs):
        if tensor.spec.dtype in UNKNOWN_TO.get(backend, ()):
            raise ExportError(
                f"stage '{model.stage.name}': '{tensor.name}' is {tensor.spec.dtype}, which {backend} cannot take",
                fix="put a Cast before it; where a model makes or reads it, into the model",
            )


def _add_tensors(config: Any, model: Composing | Ensemble, ensemble: Ensemble) -> None:
    for field, tensors in ((config.input, model.inputs), (config.output, model.outputs)):
        for tensor in tensors:
            field.add(name=tensor.name, data_type=triton_type(tensor.spec.dtype), dims=ensemble.dims(tensor.spec))


def _add_warmup(config: Any, model: Composing, ensemble: Ensemble, gears: Gears) -> None:
    """A request of each size, and of one sample and the largest batch; ids are 0, which every table has."""
    batches = (1, ensemble.max_batch_size) if ensemble.max_batch_size > 1 else (1,)
    for index, size in enumerate(gears.sizes or ((),)):
        for batch in batches:
            warmup = config.model_warmup.add(name=f"{Gear(batch, size)}", batch_size=batch)
            for tensor in model.inputs:
                shape = tensor.spec.at_gear(index)
                dims = shape if ensemble.max_batch_size else (ensemble.rows, *shape)
                data = "random_data" if tensor.spec.dtype.startswith("float") else "zero_data"
                value = warmup.inputs[tensor.name]
                value.MergeFrom(type(value)(data_type=triton_type(tensor.spec.dtype), dims=dims, **{data: True}))


def _preferred(gears: tuple[int, ...], largest: int) -> list[int]:
    """What the batcher waits for: the gears that the user named, beyond single samples."""
    return [size for size in gears if 1 < size <= largest] or [largest]


def _npu_options(model: Composing, ensemble: Ensemble, plan: Plan) -> dict[str, str]:
    """The parameters of npu_ge. It ignores a bare ge.* key. Precision is always written, for GE's default is fp16."""
    deployment = plan.deployment
    options = {
        "device_ids": ",".join(map(str, deployment.device_ids)),
        "device_exec_blocks": str(deployment.streams),
        "session.ge.exec.precision_mode_v2": _of(deployment.precision, model, "origin"),
    }
    cores = _of(deployment.cores, model, "")
    if cores:
        options["session.ge.aicoreNum"] = cores
        options["session.ge.op_compiler_cache_mode"] = "disable"  # it holds operators for any number of cores
    if deployment.profiling:
        options["profiling"] = "dynamic"
    for name in ("dump_graph", "dump_data"):
        if getattr(deployment, name):
            options[name] = "1"
    gears = _gears(model, ensemble, plan)
    if gears:
        options |= gears
    else:
        options["static_model"] = "1"
    return options


def _gears(model: Composing, ensemble: Ensemble, plan: Plan) -> dict[str, str]:
    """The gear options; none where there is one gear only."""
    sizes = plan.built[model.stage.name].gears.sizes
    inputs = sorted(model.inputs, key=lambda tensor: tensor.name.encode())
    if len(sizes) > 1:
        rows = [
            [str(dict(size)[str(dim)]) for tensor in inputs for dim in tensor.spec.shape if not isinstance(dim, int)]
            for size in sizes
        ]
    elif ensemble.max_batch_size:
        if ensemble.max_batch_size > MOST_GEARS:
            raise ExportError(
                f"stage '{model.stage.name}': a batcher forms any size up to {ensemble.max_batch_size}, so each needs "
                f"a gear, and each of the {ensemble.max_batch_size} gears is compiled for each stream",
                fix=f"compile with gears up to {MOST_GEARS} (--gears 1,{MOST_GEARS}), or with "
                f'max_batch_size={MOST_GEARS} (--deployment FILE, with "max_batch_size": {MOST_GEARS} in it)',
            )
        rows = [[str(size)] * len(inputs) for size in range(1, ensemble.max_batch_size + 1)]
    else:
        return {}
    if plan.deployment.static:
        raise ExportError(
            f"stage '{model.stage.name}' has {len(rows)} gears, static is for one", fix="compile with one gear"
        )
    leading = "-1" if ensemble.max_batch_size else str(ensemble.rows)
    shapes = (
        f"{tensor.name}:" + ",".join([leading, *(str(d) if isinstance(d, int) else "-1" for d in tensor.spec.shape)])
        for tensor in inputs
    )
    return {
        "graph.ge.inputShape": ";".join(shapes),
        "graph.ge.dynamicDims": ";".join(",".join(row) for row in rows),
        "graph.ge.dynamicNodeType": "1",
    }


def _of(setting: Any, model: Composing, default: str) -> str:
    """A setting of the stage's models: one for all, or by model name."""
    if not isinstance(setting, Mapping):
        return setting or default
    names = [step.op.model_name for step in model.stage.steps if isinstance(step.op, Model)]
    found = {setting.get(name, default) for name in names}
    if len(found) > 1:
        raise ExportError(f"stage '{model.stage.name}' is given {sorted(found)}", fix="give its models one setting")
    return str(found.pop())
