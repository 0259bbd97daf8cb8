"""Settings: how graphs are compiled for cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """One setting for all graphs, or one for each Model by its name.

    precision: a value of precision_mode_v2. cores: "cube|vector", or None for all.
    """

    precision: str | Mapping[str, str] = "origin"
    cores: str | Mapping[str, str] | None = None
