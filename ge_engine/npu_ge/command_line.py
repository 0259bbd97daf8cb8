"""CommandLine: what tritonserver was started with. A Python-based backend is not told; it stands beside model.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = "command_line.json"


@dataclass(frozen=True)
class CommandLine:
    """backend_config: `--backend-config npu_ge,<key>=<value>`, by key. auto_complete: without
    `--disable-auto-complete-config`. threads: of each instance; by default an instance has its share of the cores.
    """

    backend_config: Mapping[str, str] = field(default_factory=dict)
    auto_complete: bool = True
    threads: int | None = None

    @classmethod
    def beside(cls, folder: Path) -> CommandLine:
        """As written into the backend's directory; the defaults where nothing is."""
        path = folder / FILE
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def write(self, folder: Path) -> None:
        """Write it into the backend's directory."""
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")
