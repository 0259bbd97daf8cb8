"""Real weights and photos, where `make setup` lays them."""

from __future__ import annotations

from pathlib import Path

import lay_out_weights
import pytest

ROOT = Path(__file__).resolve().parents[2]


def laid_out(path: str) -> Path:
    """A file that `make setup` lays out; the test is skipped where it was not run."""
    found = ROOT / path
    if not found.exists():
        pytest.skip(f"{path} is not there: run make setup")
    return found


def packaged(distribution: str, name: str) -> Path:
    """A file that an installed package carries; the test is skipped where it is not installed."""
    try:
        return lay_out_weights.packaged(distribution, name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
