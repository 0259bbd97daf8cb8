"""Real weights and photos, where `make setup` lays them."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def laid_out(path: str) -> Path:
    """A file that `make setup` lays out; the test is skipped where it was not run."""
    found = ROOT / path
    if not found.exists():
        pytest.skip(f"{path} is not there: run make setup")
    return found
