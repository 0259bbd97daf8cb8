"""One file a device, and the way to name one."""

from __future__ import annotations

from ops import DeviceError

from .base import Device, Program, Stream, Watch
from .cpu import CpuDevice
from .null import NullDevice

__all__ = ["CpuDevice", "Device", "NullDevice", "Program", "Stream", "Watch", "open_device"]


def open_device(device: str | Device, threads: int | None = None, streams: int = 1) -> Device:
    """A device by name ("cpu", "null"), or the one given.

    Errors: DeviceError for a name that stands for none; there is never a fallback to another device.
    """
    if not isinstance(device, str):
        return device
    if device == "cpu":
        return CpuDevice(threads=threads, streams=streams)
    if device == "null":
        return NullDevice()
    if device.startswith("npu"):
        raise DeviceError(f"device {device!r}: this version has no NPU device", fix='use "cpu", or export the plan')
    raise DeviceError(f"there is no device {device!r}", fix='use "cpu" or "null"')
