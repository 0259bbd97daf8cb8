"""Flags: what the command line of atc may say, each by itself and together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import AtcError

KNOWN = {
    "aicore_num",
    "check_report",
    "compression_optimize_conf",
    "debug_dir",
    "deterministic",
    "disable_reuse_memory",
    "display_model_info",
    "dynamic_batch_size",
    "dynamic_dims",
    "dynamic_image_size",
    "enable_single_stream",
    "enable_small_channel",
    "external_weight",
    "framework",
    "fusion_switch_file",
    "host_env_cpu",
    "host_env_os",
    "input_format",
    "input_fp16_nodes",
    "input_shape",
    "input_shape_range",
    "insert_op_conf",
    "is_output_adjust_hw_layout",
    "keep_dtype",
    "log",
    "mode",
    "model",
    "modify_mixlist",
    "op_compiler_cache_dir",
    "op_compiler_cache_mode",
    "op_debug_level",
    "op_precision_mode",
    "op_select_implmode",
    "optypelist_for_implmode",
    "out_nodes",
    "output",
    "output_type",
    "precision_mode",
    "precision_mode_v2",
    "soc_version",
    "weight",
}
PATH_REASON = "The path can contain only letters, digits, dots, hyphens, underscores and Chinese characters"
GEARS = ("dynamic_batch_size", "dynamic_image_size", "dynamic_dims", "input_shape_range")
SOCS = re.compile(
    r"Ascend(310|310B[1-4]|310P[1357]|910|910A|910B|910Pro[AB]|910B[1-4](-1)?|910_93\d\d|950(PR|DT)?(_\w+)?)"
)
BF16 = re.compile(r"Ascend(910B\d|910_93|950)")
V2 = ("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "mixed_hif8", "cube_hif8")
V1 = (
    "force_fp16",
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "allow_fp32_to_bf16",
)
PATH = re.compile(r"[\u4e00-\u9fa5A-Za-z0-9./_-]+")
LOGS = ("debug", "info", "warning", "error", "null", "default")
CHOICES = {
    "op_compiler_cache_mode": ("enable", "disable", "force"),
    "op_select_implmode": ("high_precision", "high_performance", "high_precision_for_all", "high_performance_for_all"),
    "external_weight": ("0", "1", "2"),
    "input_format": ("NCHW", "ND", "NCDHW"),  # of an ONNX file
}
# Cube and vector cores of a chip, as far as they are known.
CORES = {
    "Ascend910B1": (24, 48),
    "Ascend910B2": (24, 48),
    "Ascend910B3": (20, 40),
    "Ascend910B4": (20, 40),
    "Ascend310P1": (10, 8),
    "Ascend310P3": (8, 7),
    "Ascend950PR": (32, 64),
}


class UnknownFlag(Exception):
    """The parser of the command line refuses this before atc sees it: no code."""


def read(arguments: Sequence[str]) -> dict[str, str]:
    """--name=value, or --name value."""
    flags: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--") or name[2:] not in KNOWN:
            raise UnknownFlag(f"ERROR: unknown command line flag '{name.lstrip('-')}'")
        if not equals:
            if not rest:
                raise UnknownFlag(f"ERROR: flag '{name}' is missing its argument")
            value = rest.pop(0)
        if name[2:] in flags:
            raise UnknownFlag(f"the simulator refuses {name} given twice")
        flags[name[2:]] = value
    return flags


def check(flags: Mapping[str, str]) -> None:
    """Everything but what needs the model. Errors: AtcError."""
    _required(flags)
    given = [name for name in GEARS if flags.get(name)]
    if len(given) > 1:
        raise AtcError("E10009")
    if flags.get("insert_op_conf"):
        _aipp(flags)
    if flags.get("dynamic_dims") and flags.get("input_format", "") != "ND":
        raise AtcError(
            "E10001", flags.get("input_format", ""), "--input_format", "input_format must be ND when set dynamic_dims"
        )
    _precision(flags)
    _cores(flags)
    for name, choices in CHOICES.items():
        if name in flags and flags[name] not in choices:
            raise AtcError("E10001", flags[name], f"--{name}", f"only support {', '.join(choices)}")
    if flags.get("log", "null") not in LOGS:
        raise AtcError("E10010", flags["log"])
    if flags.get("deterministic", "0") not in ("0", "1"):
        raise AtcError("E10006", flags["deterministic"], "deterministic")
    if flags.get("optypelist_for_implmode") and not flags.get("op_select_implmode"):
        raise AtcError("E10001", "", "--op_select_implmode", "it must be set with --optypelist_for_implmode")
    types = {part.rpartition(":")[2] for part in flags.get("output_type", "").split(";") if part}
    if not types <= {"FP32", "FP16", "UINT8", "INT8"}:
        raise AtcError("E10001", flags["output_type"], "--output_type", "only support FP32, FP16, UINT8, INT8")
    for name in ("input_fp16_nodes", "out_nodes", "output_type", "weight", "input_shape_range"):
        if flags.get(name):
            raise AtcError("E10055", f"the simulator does not do --{name}")
    if flags.get("mode", "0") != "0":
        raise AtcError("E10055", "the simulator does --mode=0 only")


def _required(flags: Mapping[str, str]) -> None:
    for name in ("soc_version", "output", "model"):
        if not flags.get(name):
            raise AtcError("E10054", f"--{name}")
    if flags.get("framework") not in ("0", "1", "3", "5"):
        raise AtcError("E10007", "framework", "0(Caffe), 1(MindSpore), 3(TensorFlow) or 5(ONNX)")
    if flags["framework"] != "5":
        raise AtcError("E10055", "the simulator reads ONNX only")
    if not SOCS.fullmatch(flags["soc_version"]):
        raise AtcError("E10001", flags["soc_version"], "--soc_version", "the value is no name of a chip")
    _readable(flags, "model")
    if not PATH.fullmatch(flags["output"]):
        raise AtcError("E10001", flags["output"], "--output", PATH_REASON)
    if flags["output"].endswith("/"):
        raise AtcError("E10022", flags["output"], "output")
    if not Path(flags["output"]).absolute().parent.is_dir():
        raise AtcError("E10001", flags["output"], "--output", "the directory does not exist")


def _readable(flags: Mapping[str, str], name: str) -> None:
    path = Path(flags[name])
    if not path.is_file():
        raise AtcError("E10001", path, f"--{name}", "realpath error, errmsg: No such file or directory")
    if not PATH.fullmatch(str(path.resolve())):
        raise AtcError("E10001", path, f"--{name}", PATH_REASON)


def _aipp(flags: Mapping[str, str]) -> None:
    if flags.get("dynamic_dims"):
        reason = "dynamic_dims function does not support aipp"
        raise AtcError("E10001", flags["insert_op_conf"], "--insert_op_conf", reason)
    if flags.get("input_fp16_nodes"):
        raise AtcError("E10034", flags["input_fp16_nodes"].split(";")[0])
    _readable(flags, "insert_op_conf")
    raise AtcError("E10055", "the simulator does not do AIPP")


def _precision(flags: Mapping[str, str]) -> None:
    both = flags.get("precision_mode"), flags.get("precision_mode_v2")
    if all(both):
        raise AtcError("E10056", "--precision_mode", "--precision_mode_v2")
    for name, choices in (("precision_mode", V1), ("precision_mode_v2", V2)):
        value = flags.get(name, choices[0])
        if value not in choices:
            raise AtcError("E10001", value, f"--{name}", f"only support {', '.join(choices)}")
        soc = flags["soc_version"]
        if ("bf" in value and not BF16.match(soc)) or ("hif8" in value and "950" not in soc):
            raise AtcError("E10001", value, f"--{name}", f"{soc} does not support it")


def _cores(flags: Mapping[str, str]) -> None:
    if "aicore_num" not in flags:
        return
    text, soc = flags["aicore_num"], flags["soc_version"]
    match = re.fullmatch(r"([1-9][0-9]*)(\|([1-9][0-9]*)?)?", text)
    pair = BF16.match(soc) is not None
    if match is None or (pair and not match[3]):
        wanted = '"cube|vector"' if pair else '"N|"'
        raise AtcError("E10001", text, "--aicore_num", f"write {wanted}")
    most = CORES.get(soc, (64, 128))
    if int(match[1]) > most[0] or (pair and int(match[3]) > most[1]):
        raise AtcError("E10001", text, "--aicore_num", f"{soc} has {most[0]}|{most[1]}")
