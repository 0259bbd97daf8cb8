"""Settings of the npu_ge backend: V02-V08, V18-V20, V22, V23, V29; files and gears have checks of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ge_engine.npu_ge.checks import MANY_STREAMS, MOST_STREAMS
from ge_engine.npu_ge.gears import GEAR_KEYS
from ge_engine.npu_ge.options import CORES, LEVELS, PRECISION, stoi
from ops.near import nearest

from ...deployment import PRECISIONS
from ..model import Model
from ..problem import Place, Problem
from .gears import check_gears, covers_all
from .npu_files import check_files
from .npu_io import check_io
from .npu_options import Options

_KEYS = (
    "device_ids",
    "device_exec_blocks",
    "instance_exec_blocks",
    "static_model",
    "dump_graph",
    "dump_data",
    "profiling",
)
_MODES = {
    "ge.exec.precision_mode_v2": PRECISIONS,
    "ge.exec.precision_mode": (
        "force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16", "must_keep_origin_dtype",
        "allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16", "allow_fp32_to_bf16",
    ),
}  # fmt: skip


def check_npu_ge(model: Model) -> Iterator[Problem]:
    """A model of the npu_ge backend."""
    if model.backend != "npu_ge":
        return
    options = Options(model)
    yield from _keys(options)
    yield from _numbers(options)
    yield from _streams(options)
    yield from _static(options)
    yield from _batching(options)
    yield from _precision(options)
    yield from _cores(options)
    yield from _debugging(options)
    yield from check_files(model)
    yield from check_io(model)
    yield from check_gears(options)


def _keys(options: Options) -> Iterator[Problem]:
    for key in options.values:
        place, (scope, _, name) = options.place(key), key.partition(".")
        if scope == "global" and name:
            message = f"'{key}' is stored and never read"
            yield Problem("V03", place, message, f'write key: "session.{name}"')
        elif key.startswith("ge."):
            level = "graph" if key in GEAR_KEYS else "session"
            message = f"'{key}' is dropped without a word: in parameters an option begins with session. or graph."
            yield Problem("V02", place, message, f'write key: "{level}.{key}"')
        elif scope not in LEVELS and any(f"{word}." in key for word in LEVELS):
            yield Problem(
                "V02", place, f"'{key}' does not begin with session. or graph.: its front is cut off", "mend the key"
            )
        elif scope not in LEVELS and key not in _KEYS:
            meant = nearest(key, _KEYS)
            if meant:
                yield Problem("V02", place, f"the backend does not know '{key}'", f'write key: "{meant}"')


def _numbers(options: Options) -> Iterator[Problem]:
    """Texts that std::stoi does not take end the load."""
    for key in ("device_exec_blocks", "instance_exec_blocks", "static_model"):
        value = options.values.get(key)
        if value is not None and stoi(value) is None:
            rule = {"static_model": "V04", "instance_exec_blocks": "V06"}.get(key, "V07")
            message = f'{key} "{value}" is not a number: Failed to create model state: stoi'
            yield Problem(rule, options.place(key), message, f'write string_value: "1", or leave {key} out', "refused")
    for item in options.values.get("device_ids", "0").split(","):
        if stoi(item) is None:
            message = f"device_ids: '{item}' is not a number: Failed to create model state: stoi"
            yield Problem("V07", options.place("device_ids"), message, 'write numbers and commas, as "0,1"', "refused")
    if (stoi(options.values.get("instance_exec_blocks", "1")) or 1) != 1:
        message = f"instance_exec_blocks is {options.values['instance_exec_blocks']}: every instance reads row 0 then"
        yield Problem("V06", options.place("instance_exec_blocks"), message, "leave it out")


def _streams(options: Options) -> Iterator[Problem]:
    place = options.place("device_exec_blocks")
    total = options.streams * options.devices
    if total > MOST_STREAMS:
        message = (
            f"{options.streams} streams on each of {options.devices} cards: above {MOST_STREAMS} their ids collide"
        )
        yield Problem("V07", place, message, f"write device_exec_blocks up to {MANY_STREAMS}")
    elif options.streams > MANY_STREAMS:
        message = f"{options.streams} streams a card: above {MANY_STREAMS} they only take memory"
        yield Problem("V07", place, message, f"write device_exec_blocks up to {MANY_STREAMS}", "advice")
    if options.instances < total and "device_exec_blocks" in options.values:
        message = f"{options.instances} instances feed {total} streams: the others idle"
        fix = f"write instance_group [ {{ count: {total} kind: KIND_CPU }} ]"
        yield Problem("V08", place, message, fix, "advice")
    if total == 1 and options.geared and not covers_all(options):
        message = "one stream: a request outside the gears takes it away, and the model hangs from then on"
        fix = 'write device_exec_blocks "2" and instance_group [ { count: 2 kind: KIND_CPU } ] (export --streams 2)'
        yield Problem("V08", options.place_of("ge.dynamicDims"), message, fix, "advice")


def _static(options: Options) -> Iterator[Problem]:
    value, model = options.values.get("static_model"), options.model
    if value is None or stoi(value) is None:
        return
    place = options.place("static_model")
    if not options.static:
        message = f'static_model "{value}" does nothing: only "1" is read, and "0" switches nothing off'
        yield Problem("V04", place, message, 'write "1", or leave it out', "advice")
        return
    if options.geared:
        message = "static_model and gears: a static graph has one shape, and gears cannot be set"
        yield Problem("V04", place, message, "leave static_model out, or the gears", "refused")
    if model.max_batch_size > 1:
        message = f"static_model with max_batch_size {model.max_batch_size}: a batch is a loop over a graph of batch 1"
        fix = "write max_batch_size: 0 and the batch in dims, or gears instead of static_model"
        yield Problem("V05", place, message, fix, "advice")
    if model.config.HasField("dynamic_batching"):
        message = "static_model and dynamic_batching: requests wait for each other, and then run one by one"
        yield Problem("L08", model.at("dynamic_batching"), message, "leave dynamic_batching out")


def _batching(options: Options) -> Iterator[Problem]:
    model = options.model
    batching = model.config.dynamic_batching
    if not model.config.HasField("dynamic_batching") or model.max_batch_size == 0:
        return
    if not batching.preferred_batch_size:
        filled = f"[ {model.max_batch_size} ]"
        message = f"dynamic_batching without preferred_batch_size: the server fills in {filled}, so requests are merged"
        fix = f"write preferred_batch_size: {filled} where that is meant, or leave dynamic_batching out"
        yield Problem("V18", model.at("dynamic_batching"), message, fix, "advice")
    for index, item in enumerate(model.config.input):
        if -1 in item.dims:
            message = f"'{item.name}' has dims {list(item.dims)}: merged requests take their dims from config.pbtxt"
            yield Problem("V19", model.at("input", index), message, "fix the dims, or leave preferred_batch_size out")


def _precision(options: Options) -> Iterator[Problem]:
    given = [name for name in PRECISION if options.keys_of(name)]
    if not given:
        message = "precision is not written: GE computes in fp16"
        fix = 'write parameters { key: "session.ge.exec.precision_mode_v2" value { string_value: "origin" } }'
        yield Problem("V20", options.model.at("parameters"), message, fix, "advice")
    if len(given) == 2:
        message = "precision_mode_v2 and precision_mode exclude each other"
        yield Problem("V20", options.place_of(given[1]), message, "leave precision_mode out")
    for name in given:
        value = options.option(name) or ""
        if value not in _MODES[name]:
            message = f"{name} '{value}' is not a mode that GE knows"
            meant = nearest(value, _MODES[name]) or "origin"
            yield Problem("V20", options.place_of(name), message, f'write string_value: "{meant}"')


def _cores(options: Options) -> Iterator[Problem]:
    value = options.values.get("session.ge.aicoreNum")
    if "graph.ge.aicoreNum" in options.values:
        message = "aicoreNum at graph level is not read"
        yield Problem("V22", options.place("graph.ge.aicoreNum"), message, 'write key: "session.ge.aicoreNum"')
    if value is None or CORES.fullmatch(value):
        return
    place = options.place("session.ge.aicoreNum")
    if re.fullmatch(r"[1-9]\d*", value):
        message = f"aicoreNum '{value}' leaves the vector cores unset (\"{value}|\" is the form of 310P and 910)"
        yield Problem("V22", place, message, f'write "{value}|{value}": cube cores, vector cores', "advice")
    else:
        message = f"aicoreNum '{value}' is not cube|vector: numbers without blanks, signs or leading zeros"
        yield Problem("V22", place, message, 'write it as "12|10"')


def _debugging(options: Options) -> Iterator[Problem]:
    if options.values.get("dump_data") == "1":
        message = "dump_data writes into ./dump_data of the folder where the server starts: it must exist"
        yield Problem(
            "V23", options.place("dump_data"), message, "make that folder, and leave dump_data out later", "advice"
        )
    profiling = options.values.get("profiling")
    if profiling is not None and profiling not in ("dynamic", "true"):
        message = f"profiling '{profiling}' is not read in parameters"
        yield Problem("V23", options.place("profiling"), message, 'write string_value: "dynamic" or "true"')


def check_environment(environment: Mapping[str, str]) -> Iterator[Problem]:
    """V29: the variable that replaces every option of the command line."""
    text = environment.get("GE_NPU_CONFIG")
    if text is None:
        return
    place = Place("GE_NPU_CONFIG")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Problem("V29", place, f"GE_NPU_CONFIG is not JSON: {error}", "write a JSON object of strings")
        return
    if not isinstance(document, dict):
        yield Problem("V29", place, "GE_NPU_CONFIG is not a JSON object", "write a JSON object of strings")
        return
    for key, value in document.items():
        if not isinstance(value, str):
            message = f"GE_NPU_CONFIG: '{key}' is {json.dumps(value)}; a number becomes another text there"
            yield Problem("V29", place, message, f'write "{key}": "{value}"')
