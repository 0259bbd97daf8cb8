"""Models, gears, static graphs, buffers, streams and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .gears import Gear, Gears

if TYPE_CHECKING:
    from .model import Model, Outputs
else:

    def __getattr__(name: str) -> Any:
        """Model and Outputs, when they are first asked for: what runs a graph on a server has no onnx there."""
        if name in ("Model", "Outputs"):
            from . import model

            return getattr(model, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = ["Gear", "Gears", "Model", "Outputs"]
