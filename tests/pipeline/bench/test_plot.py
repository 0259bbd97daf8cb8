from __future__ import annotations

import sys
from pathlib import Path

import cv2
import pytest

from ops import WrongUse
from pipeline.bench import Level, Report, Settings
from pipeline.bench.plot import figure_type, plot
from pipeline.bench.window import Window


def report(count: int) -> Report:
    verdicts = ("stable", "unstable")
    levels = [
        Level(2**power, verdicts[power % 2], Window(1.0, [0.01 * 2**power] * 90), 3, 90, 0) for power in range(count)
    ]
    return Report("yolo11", "127.0.0.1:8001 (grpc)", 1, Settings(), levels)


@pytest.mark.parametrize("count", [1, 3, 30])
def test_a_picture_is_written(count: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    plot(report(count), tmp_path / "bench.png")
    picture = cv2.imread(str(tmp_path / "bench.png"))
    assert picture is not None
    assert picture.shape == (720, 840, 3)
    assert (picture != 255).any()


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(WrongUse, match="--plot needs matplotlib") as caught:
        figure_type()
    assert caught.value.fix == "pip install matplotlib"
