"""Drafts of pipelines, by what the file of a model says, and what they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from photos import scene

from pipeline.graph import Graph
from pipeline.load import load
from pipeline.new import Draft, draft

Drafted = tuple[Draft, Path, Graph]


def drafted(model: Path, folder: Path, vocab: Path | None = None) -> Drafted:
    """The draft, written; the file; and what validate says of it."""
    place = folder / "graph.py"
    made = draft(model, place, vocab)
    place.write_text(made.text, encoding="utf-8")
    return made, place, load(str(place)).validate()


def run(place: Path, gears: int = 1, **sample: Any) -> dict[str, Any]:
    with load(str(place)).compile(gears=(gears,)).session() as session:
        return session.run(**sample)


def picture_bytes(path: Path | None = None, turns: int = 0) -> bytes:
    pixels = cv2.imread(str(path)) if path else scene(120, 160)
    assert pixels is not None
    done, data = cv2.imencode(".png", np.rot90(pixels, turns))
    assert done
    return data.tobytes()


def texts_of(made: Draft) -> str:
    return "\n".join(check.text for check in made.checks)


PIXELS = {"image": picture_bytes()}
