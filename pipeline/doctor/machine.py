"""Machine: where the parts of an NPU are."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ge_engine.om.cann import named_homes, usual_homes

HUAWEI, ACCELERATOR = "0x19e5", "0x1200"  # vendor and class on the PCI bus


@dataclass(frozen=True)
class Machine:
    """A machine: /dev, /sys and /usr/local/Ascend below a folder. What the environment names is as it says."""

    root: Path

    @cached_property
    def cards(self) -> tuple[Path, ...]:
        """The device files of the cards, by number."""
        found = [path for path in (self.root / "dev").glob("davinci*") if path.name.removeprefix("davinci").isdigit()]
        return tuple(sorted(found, key=lambda path: int(path.name.removeprefix("davinci"))))

    @property
    def on_bus(self) -> int:
        """How many accelerators of Huawei the PCI bus has, with a driver or without."""
        return sum(
            _read(device / "vendor") == HUAWEI and _read(device / "class").startswith(ACCELERATOR)
            for device in (self.root / "sys/bus/pci/devices").glob("*")
        )

    @property
    def driver(self) -> Path:
        """The folder of the driver, as its installer noted it, or the usual one."""
        for line in _read(self.root / "etc/ascend_install.info").splitlines():
            name, _, place = line.partition("=")
            if name == "Driver_Install_Path_Param":
                return self.root / place.strip().lstrip("/") / "driver"
        return self.root / "usr/local/Ascend/driver"

    @property
    def homes(self) -> list[Path]:
        """CANN's toolkits: those that the environment names, or else those in the usual places."""
        return list(named_homes().values()) or usual_homes(self.root)

    @property
    def in_container(self) -> bool:
        """Whether this is a container, as Docker and Podman note it."""
        return any((self.root / note).exists() for note in (".dockerenv", "run/.containerenv"))

    def has_npu(self) -> bool:
        """Whether anything here speaks of an NPU."""
        seen = self.cards or self.on_bus or self.driver.exists() or self.homes
        return bool(seen) or importlib.util.find_spec("acl") is not None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
