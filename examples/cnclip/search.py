"""Rank pictures for Chinese sentences.

python examples/cnclip/search.py                             the sentences and pictures of the example
python examples/cnclip/search.py 一只猫 -p a.jpg -p b.png     your own
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from graph import image, text

from ops import Array, GepipeError

PICTURES = Path(__file__).parent / "weights"  # `make setup` lays them there

# Each sentence with the picture that it is about.
SENTENCES = {
    "一只猫": "chelsea",
    "虎斑猫的照片": "chelsea",
    "一杯咖啡": "coffee",
    "导弹": "rocket",
    "火箭发射": "rocket",
    "摩托车": "motorcycle_left",
    "公共汽车": "bus",
    "小客车": "bus",
    "网页": "page",
    "菜单": "page",
}


def picture_vectors(paths: list[Path]) -> Array:
    """float32[pictures,D], each of length 1."""
    with image.compile(gears=(1, 2, 4, 8)).session() as session:
        return _vectors(session.run_batch([{"image": path.read_bytes()} for path in paths]))


def sentence_vectors(sentences: list[str]) -> Array:
    """float32[sentences,D], each of length 1."""
    with text.compile(gears=(1, 2, 4, 8)).session() as session:
        return _vectors(session.run_batch([{"text": sentence} for sentence in sentences]))


def _vectors(answers: list[dict[str, Array] | GepipeError]) -> Array:
    rows = []
    for answer in answers:
        if isinstance(answer, GepipeError):
            raise answer
        rows.append(answer["vector"])
    return np.stack(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Rank pictures for Chinese sentences.")
    parser.add_argument("sentences", nargs="*", default=list(SENTENCES))
    parser.add_argument("-p", "--picture", action="append", type=Path)
    arguments = parser.parse_args()
    if not arguments.picture and not PICTURES.is_dir():
        sys.exit(f"there is no folder {PICTURES}: run make setup, or name pictures of your own with -p")
    pictures: list[Path] = arguments.picture or sorted(path for path in PICTURES.iterdir() if path.suffix != ".onnx")
    try:
        similarity = sentence_vectors(arguments.sentences) @ picture_vectors(pictures).T
    except (OSError, GepipeError) as error:
        sys.exit(str(error))
    right = 0
    for sentence, row in zip(arguments.sentences, similarity):
        ranked = [(pictures[i].stem, float(row[i])) for i in np.argsort(-row)]
        right += SENTENCES.get(sentence) == ranked[0][0]
        print(f"{sentence}\t" + "  ".join(f"{name} {score:.2f}" for name, score in ranked[:3]))
    if arguments.sentences == list(SENTENCES) and not arguments.picture:
        print(f"{right} of {len(SENTENCES)} right")


if __name__ == "__main__":
    main()
