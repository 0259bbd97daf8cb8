"""One file a device, and the way to name one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ops import DeviceError

from ..cores import Cores
from ..progress import Progress
from .ascend import AscendDevice
from .base import Device, Program, Stream, Watch
from .cpu import CpuDevice
from .null import NullDevice

__all__ = ["AscendDevice", "CpuDevice", "Device", "NullDevice", "Program", "Stream", "Watch", "open_device"]


def open_device(
    device: str | Device,
    threads: int | None = None,
    streams: int = 1,
    cards: Sequence[int] = (0,),
    cores: Cores = None,
    progress: Progress | None = None,
) -> Device:
    """A device by name ("cpu", "null", "npu:0", "npu:0,1"), or the one given. "npu" stands for the given cards.

    cores: what a graph may use of an NPU; progress: told what is compiled for one.
    Errors: DeviceError for a name that stands for none; there is never a fallback to another device.
    """
    if not isinstance(device, str):
        return device
    if device == "cpu":
        return CpuDevice(threads=threads, streams=streams)
    if device == "null":
        return NullDevice()
    if device == "npu":
        return AscendDevice(cards, streams, cores, progress)
    if re.fullmatch(r"npu:\d+(,\d+)*", device):
        return AscendDevice(_numbers(device), streams, cores, progress)
    raise DeviceError(f"there is no device {device!r}", fix='use "cpu", "null", "npu:0", or several cards as "npu:0,1"')


def _numbers(device: str) -> list[int]:
    numbers = [int(number) for number in device.removeprefix("npu:").split(",")]
    if len(set(numbers)) < len(numbers):
        raise DeviceError(f"device {device!r} names a card twice", fix="name each once; streams are a setting")
    return numbers
