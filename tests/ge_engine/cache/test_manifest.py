from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_files import model_stage, node, save, tensor

from ge_engine.build import assembled, make
from ge_engine.cache import manifest
from ge_engine.cache.manifest import About, Damaged
from ge_engine.gears import Gear, Gears
from ge_engine.stage import Found, Made, StaticGraph
from ops import TensorSpec

KEY = "0123456789ab" + "0" * 52
ABOUT = About("stage", ("1", "2"), ("model.onnx",))


@pytest.fixture
def entry(tmp_path: Path) -> tuple[Path, Made]:
    """A built stage with a file of weights, and its manifest beside it."""
    weights = {"w": np.random.default_rng(0).random((64, 16), np.float32)}
    names = [tensor("x", ("n", 64))], [tensor("y", ("n", 16))]
    path = save(tmp_path / "model.onnx", [node("MatMul", ["x", "w"], ["y"])], *names, weights)
    stage, gears = model_stage(path, TensorSpec("float32", (64,))), Gears.of_batches((1, 2))
    folder = tmp_path / "entry"
    made = make(stage, gears, assembled(stage, gears)[0], folder)
    manifest.write(folder, KEY, ABOUT, made)
    return folder, made


def test_what_was_written_is_read_whole(entry: tuple[Path, Made]) -> None:
    folder, made = entry
    assert manifest.read(folder, KEY) == made
    assert manifest.read(folder, KEY, thorough=True) == made
    assert manifest.about(folder) == ABOUT


def test_every_field_comes_back_as_it_was(tmp_path: Path) -> None:
    gears = [Gear(1, (("H", 640), ("W", 480)), 0), Gear(1, (("H", 320), ("W", 320)), 1)]
    tensors = (("x", "float32", (1, 3, 640, 480)), ("n", "int64", (1, -1)))
    made = Made(
        {gear: StaticGraph(gear, str(tmp_path / f"{gear}.onnx"), tensors, ()) for gear in gears},
        {gears[0].dims: str(tmp_path / "any.onnx")},
        1.1920928955078125e-07,
        "猫/node",
        (("boxes", ("a/NonZero", "b")), ("scores", ())),
        (Found(2, "G57", "a message\nof two lines", "a fix"),),
    )
    manifest.write(tmp_path, KEY, ABOUT, made)
    read = manifest.read(tmp_path, KEY)
    assert read == made
    assert [gear.index for gear in read.static] == [0, 1]


def test_the_files_may_be_moved(entry: tuple[Path, Made]) -> None:
    folder, made = entry
    other = folder.rename(folder.with_name("other"))
    assert manifest.read(other, KEY) == manifest.moved(made, other)
    assert Path(manifest.read(other, KEY).shared[()]).exists()


def flip(path: Path, position: int = -1) -> None:
    """Change one bit of a file, and leave it its date."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("name", ["stage_1.onnx", "stage_2.onnx", "stage_any.onnx"])
def test_a_flipped_bit_in_a_graph_is_found(name: str, entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    flip(folder / name)
    with pytest.raises(Damaged, match=rf"{name} is not as it was written"):
        manifest.read(folder, KEY)


def test_a_flipped_bit_in_the_weights_is_found_by_its_date_or_by_a_thorough_read(entry: tuple[Path, Made]) -> None:
    folder, made = entry
    weights = folder / "stage.weights"
    flip(weights)
    assert manifest.read(folder, KEY) == made  # the price of not reading them
    with pytest.raises(Damaged, match=r"stage\.weights is not as it was written"):
        manifest.read(folder, KEY, thorough=True)
    os.utime(weights)
    with pytest.raises(Damaged, match=r"stage\.weights is not as it was written"):
        manifest.read(folder, KEY)


def test_weights_with_another_date_are_read_once(entry: tuple[Path, Made]) -> None:
    folder, made = entry
    weights = folder / "stage.weights"
    date = weights.stat().st_mtime_ns
    os.utime(weights, ns=(0, 0))
    assert manifest.read(folder, KEY) == made
    assert weights.stat().st_mtime_ns == date


@pytest.mark.parametrize("name", ["stage_1.onnx", "stage.weights"])
def test_a_file_that_was_cut_short_is_found(name: str, entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    os.truncate(folder / name, 5)
    with pytest.raises(Damaged, match=rf"{name} has 5 bytes, \d+ were written"):
        manifest.read(folder, KEY)


def test_a_missing_file_is_found(entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    (folder / "stage_2.onnx").unlink()
    with pytest.raises(Damaged, match=r"stage_2\.onnx should be there, or should not"):
        manifest.read(folder, KEY)


def test_a_foreign_file_is_found(entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    (folder / "notes.txt").touch()
    with pytest.raises(Damaged, match=r"notes\.txt should be there, or should not"):
        manifest.read(folder, KEY)


def test_the_entry_of_another_key_is_found(entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    with pytest.raises(Damaged, match="it is the entry 0123456789ab"):
        manifest.read(folder, "f" * 64)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"content": 5}', "\xff", "[" * 100_000])
def test_garbage_is_no_manifest(text: str, entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    (folder / manifest.MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(Damaged, match=r"manifest\.json cannot be read"):
        manifest.read(folder, KEY)
    with pytest.raises(Damaged, match=r"manifest\.json cannot be read"):
        manifest.about(folder)


def test_a_changed_manifest_is_found(entry: tuple[Path, Made]) -> None:
    folder, _ = entry
    document = json.loads((folder / manifest.MANIFEST).read_text(encoding="ascii"))
    document["content"]["made"]["mixing_node"] = "x"
    (folder / manifest.MANIFEST).write_text(json.dumps(document), encoding="ascii")
    with pytest.raises(Damaged, match=r"manifest\.json is not as it was written"):
        manifest.read(folder, KEY)


def test_a_manifest_that_is_not_there_is_damage(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=r"manifest\.json cannot be read: .*No such file"):
        manifest.read(tmp_path, KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"about": {"stage": "s", "gears": [], "models": [], "owner": "me"}},
        *({"about": None}, {"files": {"a": [1]}}, {"made": {}}, {"made": {"static": [[1]]}}, {"key": None}),
    ],
)
def test_what_another_version_may_write_is_damage_and_no_fault(change: dict[str, Any], tmp_path: Path) -> None:
    made = Made({}, {}, 0.0, None, (), ())
    manifest.write(tmp_path, KEY, ABOUT, made)
    place = tmp_path / manifest.MANIFEST
    content = {**json.loads(place.read_text())["content"], **change}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    place.write_text(json.dumps({"sha256": digest, "content": content}))
    read = manifest.about if "about" in change else partial(manifest.read, key=KEY)
    with pytest.raises(Damaged):
        read(tmp_path)
