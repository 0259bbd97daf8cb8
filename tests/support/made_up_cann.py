"""A machine with cards, made up of files: devices, driver, CANN with the simulators for `acl` and `atc`, a python3."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from acl_sim import World
from acl_sim.fixtures import HERE
from acl_sim.fixtures import npu as npu

from ge_engine.devices.ascend import library

NUMPY = "1.26.4" if sys.version_info < (3, 13) else "2.1.0"  # as CANN 8.5 wants it
PACKAGES = ("attrs", "cffi", "decorator", "protobuf", "psutil", "pyyaml", "scipy", "sympy")
SET_ENV = """\
home=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
export ASCEND_TOOLKIT_HOME=$home ASCEND_HOME_PATH=$home ASCEND_OPP_PATH=$home/opp
export PATH=$home/bin:$PATH PYTHONPATH=$home/python/site-packages${{PYTHONPATH:+:$PYTHONPATH}}
export ATC_SIM_PYTHON={python}
"""


@dataclass(frozen=True)
class MadeUp:
    """root: where / is."""

    root: Path
    cann: str = "8.5.0"

    @property
    def ascend(self) -> Path:
        return self.root / "usr/local/Ascend"

    @property
    def home(self) -> Path:
        return self.ascend / f"cann-{self.cann}"

    @property
    def config(self) -> Path:
        return self.home / "opp/built-in/op_impl/ai_core/tbe/config/ascend910b"

    @property
    def python3(self) -> Path:
        return self.root / "usr/bin/python3"

    def write(self, path: str, text: str = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def package(self, name: str, version: str) -> None:
        """What an installer leaves behind of a package of python3."""
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        self.write(f"usr/lib/python3/{name}-0.dist-info/METADATA", text)

    def make(self) -> MadeUp:
        for name in ("davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc"):
            self.write(f"dev/{name}")
        self.write("etc/ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/usr/local/Ascend\n")
        self.write("usr/local/Ascend/driver/version.info", "Version=25.2.0\nascendhal_version=7.35.23\n")
        self.write("usr/local/Ascend/driver/lib64/driver/libascend_hal.so")
        self._toolkit(f"usr/local/Ascend/cann-{self.cann}")
        (self.ascend / "cann").symlink_to(f"cann-{self.cann}")
        for name in PACKAGES:
            self.package(name, "1.0")
        self.package("numpy", NUMPY)
        folder = self.root / "usr/lib/python3"
        self.write("usr/bin/python3", f'#!/bin/sh\nPYTHONPATH={folder}:$PYTHONPATH exec {sys.executable} "$@"\n')
        self.python3.chmod(0o755)
        return self

    def _toolkit(self, home: str) -> None:
        self.write(f"{home}/x86_64-linux/ascend_toolkit_install.info", f"version={self.cann}\n")
        ini = "[version]\nSoC_version=Ascend910B4\nShort_SoC_version=Ascend910B\n"
        self.write(f"{home}/x86_64-linux/data/platform_config/Ascend910B4.ini", ini)
        self.write(f"{self.config.relative_to(self.root)}/aic-ascend910b-ops-info-nn.json", "{}")
        self.write(f"{home}/set_env.sh", SET_ENV.format(python=sys.executable))
        for link, target in {
            "bin/atc": HERE / "bin/atc",
            "python/site-packages/acl": HERE / "site/acl",
            "python/site-packages/sitecustomize.py": HERE / "site/sitecustomize.py",
        }.items():
            (self.root / home / link).parent.mkdir(parents=True, exist_ok=True)
            (self.root / home / link).symlink_to(target)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeUp]:
    """It is there, and nothing of it is in the environment but its python3."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "TRITON_HOME_PATH"):
        monkeypatch.delenv(name, raising=False)
    made = MadeUp(tmp_path / "root").make()
    monkeypatch.setenv("PATH", str(made.python3.parent), prepend=os.pathsep)
    library.finalize()
    yield made
    library.finalize()


@pytest.fixture
def sound(machine: MadeUp, npu: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Call it with the arguments of World: the machine, with CANN in the environment."""

    def install(**arguments: object) -> World:
        world = npu(**arguments)
        source(machine.home, monkeypatch)
        return world

    return install


def source(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its set_env.sh does, but for what is simulated in this process."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(home / "opp"))
    monkeypatch.setenv("ATC_SIM_PYTHON", sys.executable)
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
