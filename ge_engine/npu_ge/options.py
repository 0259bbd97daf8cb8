"""Options: what the server's command line and config.pbtxt say to npu_ge. config.pbtxt wins."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ops import Finding

from .dump import DATA

LEVELS = ("session", "graph", "global")
ON = "1"
PRECISION = ("ge.exec.precision_mode_v2", "ge.exec.precision_mode")  # GE takes one of them
CORES = re.compile(r"[1-9][0-9]*\|([1-9][0-9]*)?")  # "cube|vector" of ge.aicoreNum
_STOI = re.compile(r"\s*[+-]?[0-9]+")


@dataclass(frozen=True)
class Options:
    """npu_ge's settings of one model.

    device_exec_blocks: the streams of each device; instances: of Triton. levels: GE's options by level ("session",
    "graph"; "ge" stands for those of the command line). findings: what has no effect, or another one than it seems.
    """

    instances: int = 1
    device_ids: tuple[int, ...] = (0,)
    device_exec_blocks: int = 1
    instance_exec_blocks: int = 1
    static_model: bool = False
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    dump_data: bool = False
    dump_graph: bool = False

    @classmethod
    def of(
        cls, config: Mapping[str, Any], backend_config: Mapping[str, str], environment: Mapping[str, str] | None = None
    ) -> Options:
        """The settings in a model's configuration and on the command line.

        environment: of the server; only GE_NPU_CONFIG is looked at.
        """
        return _Reader(config, backend_config, environment or {}).read()

    @property
    def streams(self) -> int:
        return len(self.device_ids) * self.device_exec_blocks

    def get(self, key: str) -> str | None:
        """GE's option: the graph's own, else the session's, else that of all."""
        return next(
            (self.levels[level][key] for level in ("graph", "session", "ge") if key in self.levels[level]), None
        )

    @property
    def precision(self) -> str | None:
        return next((value for key in PRECISION if (value := self.get(key)) is not None), None)


def stoi(text: str) -> int | None:
    """A number as C++'s std::stoi reads it, which drops what follows; None where it throws.

    >>> stoi("8"), stoi("8 streams"), stoi("true")
    (8, 8, None)
    """
    match = _STOI.match(text)
    number = int(match[0]) if match and len(match[0]) < 20 else None
    return number if number is not None and -(2**31) <= number < 2**31 else None


class _Reader:
    def __init__(
        self, config: Mapping[str, Any], backend_config: Mapping[str, str], environment: Mapping[str, str]
    ) -> None:
        self.parameters = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
        self.backend_config = backend_config
        self.environment = environment
        self.instances = sum(max(1, int(group.get("count", 1))) for group in config.get("instance_group", ())) or 1
        self.findings: list[Finding] = []

    def read(self) -> Options:
        ids = self._text("device_ids", "0").split(",")
        devices = tuple(self._whole("device_ids", item, "V07") for item in ids)
        blocks = self._whole("instance_exec_blocks", self._text("instance_exec_blocks", "1"), "V06")
        streams = self._whole("device_exec_blocks", self._text("device_exec_blocks", "-1"), "V07")
        static = self._static_model()
        self._no_effect()
        self._debugging()
        return Options(
            self.instances,
            devices,
            -(-self.instances * blocks // len(devices)) if streams == -1 else streams,
            blocks,
            static,
            self._levels(),
            tuple(self.findings),
            self._is_on("dump_data"),
            self._is_on("dump_graph"),
        )

    def _text(self, key: str, default: str) -> str:
        return str(self.parameters.get(key, self.backend_config.get(key, default)))

    def _static_model(self) -> bool:
        text = self.parameters.get("static_model", "")
        if text and self._whole("static_model", text, "V04", otherwise=0) == 1:
            return True
        if text.strip() == "0":
            self._find("V04", "static_model is '0', which switches nothing off", 'write "1", or leave it out')
        return self.backend_config.get("static_model") == ON

    def _whole(self, key: str, text: str, rule: str, otherwise: int = 1) -> int:
        number = stoi(text)
        if number is None:
            message = f"{key} is {text!r}: Failed to create model state: stoi"
            self.findings.append(Finding(rule, "refused", "parameters", message, f"give {key} a number"))
            return otherwise
        return number

    def _levels(self) -> dict[str, dict[str, str]]:
        levels: dict[str, dict[str, str]] = {"session": {}, "graph": {}, "global": {}, "ge": {}}
        for source in (self.backend_config, self.parameters):
            for key, value in source.items():
                level, _, option = key.partition(".")
                if level in LEVELS:
                    levels[level][option] = value
        told = {key: value for key, value in self.backend_config.items() if key.startswith("ge.")}
        levels["ge"] = self._environment() if self.environment.get("GE_NPU_CONFIG") else told
        return levels

    def _environment(self) -> dict[str, str]:
        """GE_NPU_CONFIG, a JSON object, takes the place of every ge.* of the command line."""
        try:
            values = json.loads(self.environment["GE_NPU_CONFIG"])
        except ValueError:
            values = None
        if not isinstance(values, dict):
            self._find("V29", "GE_NPU_CONFIG is not a JSON object", "write one of strings")
            return {}
        for key, value in values.items():
            if not isinstance(value, str):
                self._find("V29", f"{key} is {value!r} in GE_NPU_CONFIG", "write a string: a number becomes 1.000000")
        return {key: str(value) for key, value in values.items()}

    def _is_on(self, key: str) -> bool:
        return self._text(key, "") == ON

    def _no_effect(self) -> None:
        for key in self.parameters:
            if key.startswith("ge."):
                self._find("V02", f"{key} has no effect in config.pbtxt", f"write session.{key} or graph.{key}")
            elif any(f"{level}." in key and not key.startswith(f"{level}.") for level in LEVELS):
                self._find("V02", f"{key} is cut off from the front", "begin it with session. or graph.")
        for key in (*self.parameters, *self.backend_config):
            if key.startswith("global."):
                self._find("V03", f"{key} is stored and never read", f"write {key.replace('global', 'session', 1)}")
            if key == "graph.ge.aicoreNum":
                self._find("V22", f"{key} has no effect", "write session.ge.aicoreNum")
        cores = self.parameters.get("session.ge.aicoreNum", self.backend_config.get("session.ge.aicoreNum"))
        if cores is not None and not CORES.fullmatch(cores):
            self._find("V22", f"session.ge.aicoreNum is {cores!r}", 'write "cube|vector", as "12|10"; for 310P "8|"')

    def _debugging(self) -> None:
        profiling = self.parameters.get("profiling")
        if profiling not in (None, "dynamic", "true"):
            self._find("V23", f"profiling is {profiling!r}, which has no effect", 'write "dynamic" or "true"')
        if self._is_on("dump_data") and not DATA.is_dir():
            message = f"dump_data needs the directory {DATA} where the server was started"
            self.findings.append(Finding("V23", "fails", "parameters", message, f"make it there: mkdir {DATA}"))
        if profiling in ("dynamic", "true") or "profiling" in self.backend_config:
            self._find("V23", "profiling: the stand-in does not profile", "nothing")

    def _find(self, rule: str, message: str, fix: str) -> None:
        self.findings.append(Finding(rule, "advice", "parameters", message, fix))
