"""Instance groups: M25, M35, M36, L18, M34."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Model
from ..problem import Problem
from ..schema import enum_name

_SHELL = set(";|&$`<>()[]{}\\\"'*?~#!")


def check_instances(model: Model) -> Iterator[Problem]:
    """The instances of one model, and what its backend does not take."""
    resources: dict[str, set[bool]] = {}
    for index, group in enumerate(model.config.instance_group):
        kind = enum_name(group, "kind")
        name = group.name or f"{model.name}_{index}"
        place = model.at("instance_group", index)
        if kind == "KIND_GPU" and not group.gpus:
            message = f"instance group {name} of model {model.name} has kind KIND_GPU but no GPUs are available"
            yield Problem("M25", place, message, "write kind: KIND_CPU")
        elif kind == "KIND_GPU":
            gpu = group.gpus[0]
            message = f"instance group {name} of model {model.name} specifies invalid or unsupported gpu id {gpu}"
            yield Problem("M25", place, message, "write kind: KIND_CPU, and no gpus")
        elif group.gpus:
            shown = "KIND_CPU" if kind == "KIND_AUTO" else kind
            message = f"instance group {name} of model {model.name} has kind {shown} but specifies one or more GPUs"
            yield Problem("M25", place, message, "leave gpus out")
        if model.backend == "python" and _SHELL & set(name):
            message = f"Invalid stub name: instance name '{name}' contains invalid characters; in 24.02 loading hangs"
            yield Problem("M36", place, message, "write letters, digits and _")
        for resource in group.rate_limiter.resources:
            resources.setdefault(resource.name, set()).add(bool(getattr(resource, "global")))
    yield from _shared(model, resources)
    if not model.config.instance_group and model.backend == "python" and _SHELL & set(model.name):
        message = (
            f"Invalid stub name: instance name '{model.name}_0' contains invalid characters; in 24.02 loading hangs"
        )
        yield Problem("M36", model.at(), message, "rename the folder: letters, digits and _")
    yield from _unsupported(model)


def _shared(model: Model, resources: dict[str, set[bool]]) -> Iterator[Problem]:
    for name, kinds in resources.items():
        if len(kinds) > 1:
            message = f'Resource "{name}" is present as both global and device-specific (with --rate-limit)'
            yield Problem(
                "M35", model.at("instance_group"), message, "write global in all of them, or in none", "fails"
            )


def _unsupported(model: Model) -> Iterator[Problem]:
    for kind in ("input", "output"):
        for index, item in enumerate(getattr(model.config, kind)):
            if kind == "input" and item.optional and model.backend == "npu_ge":
                message = (
                    f"'optional' is set to true for input '{item.name}' while the backend model doesn't support "
                    "optional input"
                )
                yield Problem("M34", model.at(kind, index, "optional"), message, "leave optional out")
            if model.backend == "python" and enum_name(item, "data_type") == "TYPE_BF16":
                message = f"'{item.name}' is TYPE_BF16: as_numpy raises, because numpy has no such type"
                yield Problem(
                    "L18", model.at(kind, index), message, "write TYPE_FP32, or use DLPack in model.py", "fails"
                )
