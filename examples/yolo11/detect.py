"""Find what is on a picture with YOLO11, print it and draw it.

python examples/yolo11/detect.py [PICTURE]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import cv2
from graph import model, pipeline

import ops

HERE = Path(__file__).resolve().parent
PHOTO = HERE / "weights" / "bus.jpg"
OUT = HERE / "out"
FONT = cv2.FONT_HERSHEY_SIMPLEX
READABLE = 16  # pixels high, on any picture
ORANGE, BLACK = (0, 160, 255), (0, 0, 0)


def detect(data: bytes) -> dict[str, Any]:
    """boxes float32[k,4] in pixels of the picture, scores float32[k], classes int32[k]."""
    plan = pipeline.compile(gears=(1,))
    with plan.session() as session:
        return session.run(image=data)


def draw(data: bytes, boxes: ops.Array, titles: list[str]) -> ops.Array:
    """The picture, as the pipeline saw it, with its boxes: uint8[H,W,3], BGR."""
    picture = ops.DecodeImage(color="BGR").run(data)
    height, width = picture.shape[:2]
    unit = max(round(min(height, width) / 400), 1)
    size = max(unit / 4, cv2.getFontScaleFromHeight(FONT, READABLE))
    for box, title in zip(boxes, titles):
        left, top, right, bottom = (round(float(value)) for value in box)
        cv2.rectangle(picture, (left, top), (right, bottom), ORANGE, unit)
        (text_width, text_height), _ = cv2.getTextSize(title, FONT, size, 1)
        x, y = max(min(left, width - text_width - unit), 0), max(top - unit, text_height + unit)
        cv2.rectangle(picture, (x, y - text_height - unit), (x + text_width + unit, y + unit), ORANGE, cv2.FILLED)
        cv2.putText(picture, title, (x + unit, y), FONT, size, BLACK, 1, cv2.LINE_AA)
    return picture


def label_of(number: int) -> str:
    """What a class is called; its number, where the model carries no labels."""
    return model.labels[number] if number < len(model.labels) else f"class {number}"


def main() -> None:
    if not PHOTO.parent.is_dir():
        sys.exit(f"there is no folder {PHOTO.parent}: run make setup")
    parser = argparse.ArgumentParser(description="Find what is on a picture, print it and draw it.")
    parser.add_argument("picture", nargs="?", type=Path, default=PHOTO)
    path: Path = parser.parse_args().picture
    try:
        data = path.read_bytes()
        found = detect(data)
    except (OSError, ops.GepipeError) as error:
        sys.exit(str(error))
    labels = [label_of(number) for number in found["classes"]]
    for label, score, box in zip(labels, found["scores"], found["boxes"]):
        print(f"{label:12} {score:.3f}  [{', '.join(f'{value:.1f}' for value in box)}]")
    OUT.mkdir(exist_ok=True)
    target = OUT / f"{path.stem}.png"
    titles = [f"{label} {score:.2f}" for label, score in zip(labels, found["scores"])]
    cv2.imwrite(str(target), draw(data, found["boxes"], titles))
    print(f"drawn in {os.path.relpath(target)}")


if __name__ == "__main__":
    main()
