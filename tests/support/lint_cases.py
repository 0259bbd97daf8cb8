"""One repository of models, most of them wrong: what lint has to say of each, and a server, where it can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lint_case import Case
from lint_loading import LOADING
from lint_mapping import MAPPING
from lint_settings import SETTINGS
from lint_wiring import PARTS, WIRING

CASES = (*PARTS, *WIRING, *MAPPING, *SETTINGS, *LOADING)


def write_cases(repository: Path, cases: Sequence[Case] = CASES) -> None:
    for case in cases:
        case.write(repository)
