"""Declare, validate, compile and run a pipeline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .deployment import Batching, Deployment
    from .graph import Graph
    from .lease import ExecutionContext
    from .pipeline import Pipeline
    from .plan import Plan
    from .session import Session
    from .validation import validate
else:
    _MODULES = {
        "Batching": "deployment",
        "Deployment": "deployment",
        "ExecutionContext": "lease",
        "Graph": "graph",
        "Pipeline": "pipeline",
        "Plan": "plan",
        "Session": "session",
        "validate": "validation",  # no module may have the name of something else: it would take its place
    }

    def __getattr__(name: str) -> Any:
        """Each name when it is first asked for: a command starts without what it does not need."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = ["Batching", "Deployment", "ExecutionContext", "Graph", "Pipeline", "Plan", "Session", "validate"]
