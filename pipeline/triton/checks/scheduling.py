"""Batching, queues, sequences and caches: M05-M10, L09."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..model import Model
from ..problem import Place, Problem
from ..schema import enum_name

_DELAY = 1  # TimeoutAction
_BOOLEAN = ("int32_false_true", "fp32_false_true", "bool_false_true")
_ONCE = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY", "CONTROL_SEQUENCE_CORRID")
_CORRELATION = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")


def check_scheduling(model: Model) -> Iterator[Problem]:
    """The scheduler of one model."""
    config, name = model.config, model.name
    if config.max_batch_size < 0:
        message = f"'max_batch_size' must be non-negative value for {name}"
        yield Problem(
            "M05", model.at("max_batch_size"), f"{message}: {config.max_batch_size}", "write 0, or a batch size"
        )
    if config.HasField("dynamic_batching"):
        yield from _preferred(model, "dynamic batching preferred size", "M06", "dynamic_batching")
        yield from _priorities(model)
        yield from _ordering(model)
        if config.max_batch_size and any(-1 in item.dims for item in config.input):
            message = "requests of different dims are never merged, and each waits for the delay"
            fix = "make the dims fixed, resize before this model, or leave dynamic_batching out"
            yield Problem("L09", model.at("dynamic_batching"), message, fix)
    if config.HasField("sequence_batching"):
        yield from _sequences(model)
    if config.response_cache.enable:
        start = f"Response Cache does not currently support model {name} with "
        place = model.at("response_cache")
        if config.model_transaction_policy.decoupled:
            message = f"{start}'decoupled' transaction policy. Please disable the response cache."
            yield Problem("M09", place, message, "leave response_cache out")
        if config.HasField("sequence_batching"):
            message = f"{start}sequence batching scheduler. Please disable the response cache."
            yield Problem("M09", place, message, "leave response_cache out")


def _preferred(model: Model, what: str, rule: str, *path: str) -> Iterator[Problem]:
    block = model.config
    for field in path:
        block = getattr(block, field)
    for size in block.preferred_batch_size:
        place = model.at(*path, "preferred_batch_size")
        if size <= 0:
            yield Problem(rule, place, f"{what} must be positive for {model.name}: {size}", "write a size from 1")
        elif size > model.max_batch_size:
            message = f"{what} must be <= max batch size for {model.name}: {size} > {model.max_batch_size}"
            fix = f"write sizes up to {model.max_batch_size}, or a larger max_batch_size"
            yield Problem(rule, place, message, fix if model.max_batch_size else "write max_batch_size")


def _priorities(model: Model) -> Iterator[Problem]:
    batching = model.config.dynamic_batching
    levels = batching.priority_levels
    if not levels:
        return
    if not 1 <= batching.default_priority_level <= levels:
        message = f"default priority level must be in range [1, {levels}] for {model.name}"
        fix = f"write default_priority_level, from 1 to {levels}"
        yield Problem("M07", model.at("dynamic_batching", "default_priority_level"), message, fix)
    for key in sorted(batching.priority_queue_policy):
        if not 1 <= key <= levels:
            message = f"priority queue policy must have priority level in range [1, {levels}] for {model.name}: {key}"
            place = model.at("dynamic_batching", "priority_queue_policy")
            yield Problem("M07", place, message, f"write a key from 1 to {levels}")


def _ordering(model: Model) -> Iterator[Problem]:
    batching = model.config.dynamic_batching
    if not batching.preserve_ordering:
        return
    place = model.at("dynamic_batching", "preserve_ordering")
    if batching.priority_levels > 1:
        message = f"Only one priority level is allowed when 'preserve_ordering' is true for {model.name}"
        yield Problem("M08", place, message, "leave preserve_ordering out, or priority_levels")
    policies = [batching.default_queue_policy, *batching.priority_queue_policy.values()]
    if any(policy.timeout_action == _DELAY and policy.default_timeout_microseconds for policy in policies):
        message = f"Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for {model.name}"
        yield Problem("M08", place, message, "leave preserve_ordering out, or write timeout_action: REJECT")


def _sequences(model: Model) -> Iterator[Problem]:
    batching, name = model.config.sequence_batching, model.name
    controls = [(i, item, control) for i, item in enumerate(batching.control_input) for control in item.control]
    kinds = Counter(enum_name(control, "kind") for _, _, control in controls)
    for kind in _ONCE:
        if kinds[kind] > 1:
            message = f"sequence batching specifies multiple {kind} tensors for {name}"
            yield Problem("M10", model.at("sequence_batching"), message, f"leave one {kind}")
    for index, item, control in controls:
        place = model.at("sequence_batching", "control_input", index)
        if not item.name:
            message = f"sequence batching control tensor must have a name for {name}"
            yield Problem("M10", place, message, "write its name")
        yield from _control(control, name, place)
    if batching.HasField("oldest"):
        yield from _preferred(model, "sequence batching preferred batch size", "M10", "sequence_batching", "oldest")
    if batching.HasField("direct") and not 0 <= batching.direct.minimum_slot_utilization <= 1:
        message = f"sequence batching minimum slot utilization must be in range (0.0, 1.0] for {name}"
        place = model.at("sequence_batching", "direct", "minimum_slot_utilization")
        yield Problem("M10", place, message, "write a number from 0 to 1")


def _control(control: Any, name: str, place: Place) -> Iterator[Problem]:
    kind = enum_name(control, "kind")
    given = [field for field in _BOOLEAN if len(getattr(control, field))]
    all_three = "'int32_false_true', 'fp32_false_true' or 'bool_false_true'"
    if kind == "CONTROL_SEQUENCE_CORRID":
        if given:
            message = f"sequence batching must not specify either {all_three} for {kind} for {name}"
            yield Problem("M10", place, message, f"leave {given[0]} out")
        data_type = enum_name(control, "data_type")
        if data_type not in _CORRELATION:
            message = (
                f"unexpected data type for control {kind} for {name}. Allowed data types are TYPE_UINT64, TYPE_INT64, "
                f"TYPE_UINT32, TYPE_INT32 and TYPE_STRING: {data_type}"
            )
            yield Problem("M10", place, message, "write data_type: TYPE_UINT64")
    elif not given:
        message = f"sequence batching must specify either {all_three} for {kind} for {name}"
        yield Problem("M10", place, message, "write int32_false_true: [ 0, 1 ]")
    elif len(given) > 1:
        message = (
            f"sequence batching specifies more than one from {all_three.replace(' or ', ' and ')} for {kind} for {name}"
        )
        yield Problem("M10", place, message, f"leave {given[0]} only")
    elif len(getattr(control, given[0])) != 2:
        message = f"sequence batching control '{given[0]}' must have exactly 2 entries for {kind} for {name}"
        yield Problem("M10", place, message, f"write {given[0]}: [ 0, 1 ]")
