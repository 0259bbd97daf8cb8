from __future__ import annotations

from pathlib import Path

import pytest
from frozen_graphs import dense_graph, sized_graph

from ge_engine import openvino_runtime
from ge_engine.openvino_runtime import Port
from ge_engine.tensorflow.graph_def import read_graph_def
from ge_engine.tensorflow.reading import Reading
from ops import ModelError

pytest.importorskip("openvino")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "readings"


def reading(path: Path, *values: str) -> Reading:
    return Reading(read_graph_def(str(path)), values)


def test_what_openvino_has_said_is_known_without_reading_again(cache: Path, tmp_path: Path) -> None:
    path = sized_graph(tmp_path / "m.pb")
    said = reading(path, "twice", "mean")
    shapes = {"image": (2, 4, 6, 3)}
    wanted = [Port("twice", "float32", (2, 4, 6, 3)), Port("mean", "float32", (2, 3))]
    assert said.outputs(shapes) == wanted
    assert said.outputs()[0] == Port("twice", "float32", (None, None, None, 3))
    again = reading(path, "twice", "mean")
    assert again.outputs(shapes) == wanted
    assert "network" not in vars(again)
    assert len(list(cache.iterdir())) == 1


def test_another_file_other_values_and_a_damaged_note_are_read_again(cache: Path, tmp_path: Path) -> None:
    path = dense_graph(tmp_path / "m.pb")
    assert reading(path, "y").outputs() == [Port("y", "float32", (None, 4))]
    (note,) = cache.iterdir()
    for damaged in ("", "[]", '{"null": [[1, 2]]}', '{"null": 3}'):
        note.write_text(damaged)
        assert reading(path, "y").outputs() == [Port("y", "float32", (None, 4))]
    assert reading(path, "product").outputs()[0].name == "product"
    dense_graph(path, batch=3)
    assert reading(path, "y").outputs() == [Port("y", "float32", (3, 4))]


def test_without_a_cache_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = dense_graph(tmp_path / "m.pb")
    for folder in ("off", "/dev/null/cache"):
        monkeypatch.setenv("GEPIPE_CACHE", folder)
        assert reading(path, "y").outputs() == [Port("y", "float32", (None, 4))]


def test_a_graph_that_openvino_refuses_is_told_by_the_users_own_file(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="doesn't match"):
        reading(dense_graph(tmp_path / "m.pb"), "y").outputs({"x": (1, 9)})
    assert openvino_runtime.ports(reading(tmp_path / "m.pb", "y").network.outputs).keys() == {"output0"}
