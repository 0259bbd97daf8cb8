from __future__ import annotations

import filecmp
from pathlib import Path
from typing import Any

import pytest
import tiny
from offline import read_config

from ops import ExportError, TensorSpec
from pipeline import Pipeline
from pipeline.triton.repository import activate, export, versions


def test_two_exports_of_one_plan_are_the_same_tree(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2))
    export(plan, tmp_path / "a")
    export(plan, tmp_path / "b")
    compared = filecmp.dircmp(tmp_path / "a", tmp_path / "b")

    def same(pair: Any) -> bool:
        _, differing, errors = filecmp.cmpfiles(pair.left, pair.right, pair.common_files, shallow=False)
        return not (pair.left_only or pair.right_only or differing or errors) and all(map(same, pair.subdirs.values()))

    assert same(compared)
    assert len(list((tmp_path / "a").rglob("*"))) > 20


def test_a_second_export_adds_a_version_and_points_the_ensemble_at_it(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), root)
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4)), root)
    assert versions(root, "vector") == [1, 2]
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_2_host0"
    activate(root, "vector", 1, "24.02")
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_1_host0"
    assert read_config(root, "vector").name == "vector"
    with pytest.raises(ExportError, match="no version 7 of vector"):
        activate(root, "vector", 7, "24.02")
    with pytest.raises(ExportError, match="has version 2 of vector"):
        export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), root, version=2)


def test_a_version_that_would_break_clients_is_refused_with_the_differences(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), root)
    before = sorted(path.name for path in root.iterdir())
    other = Pipeline("vector")
    other.output(y=tiny.Scale(1.0)(other.input("x", TensorSpec("float32", (4,)))))
    words = r"max_batch_size was 2, is 0; .*TYPE_FP32\[8\], is TYPE_FP32\[1,4\]"
    with pytest.raises(ExportError, match=words) as caught:
        export(other.compile(), root)
    for way in ("allow_breaking=True (--allow-breaking)", "activate=False (--no-point)"):
        assert way in caught.value.fix
    assert sorted(path.name for path in root.iterdir()) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    export(other.compile(), root, activate=False)
    assert read_config(root, "vector").max_batch_size == 2
    export(other.compile(), root, allow_breaking=True)
    assert read_config(root, "vector").max_batch_size == 0


def test_other_models_of_a_repository_are_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "theirs" / "1").mkdir(parents=True)
    (root / "theirs" / "config.pbtxt").write_text("theirs")
    export(tiny.vector_pipeline(tmp_path).compile(), root)
    assert (root / "theirs" / "config.pbtxt").read_text() == "theirs"


def test_a_model_that_is_no_ensemble_of_ours_is_never_replaced(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    theirs = (
        "name: 'vector' backend: 'python'",
        "garbage {",
        "\xff",
        'platform: "ensemble" ensemble_scheduling { step { model_name: "other_1_x" } }',
    )
    for number, text in enumerate(theirs):
        root = tmp_path / f"models{number}"
        config = root / "vector" / "config.pbtxt"
        config.parent.mkdir(parents=True)
        config.write_text(text, encoding="latin-1")
        with pytest.raises(ExportError, match=rf"{root / 'vector'} is there, and ") as caught:
            export(plan, root, allow_breaking=True)
        assert "--no-point" in caught.value.fix
        assert config.read_text(encoding="latin-1") == text
        assert [path.name for path in root.iterdir()] == ["vector"]
        assert export(plan, root, activate=False) == ("vector_1_host0", "vector_1_dense", "vector_v1")


def test_a_pipeline_called_like_a_version_of_another_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(tiny.vector_pipeline(tmp_path).compile(), root)
    other = Pipeline("vector_v1")
    other.output(y=tiny.Scale(1.0)(other.input("x", tiny.VECTOR)))
    with pytest.raises(ExportError, match="vector_v1 is there, and no ensemble of versions of vector_v1"):
        export(other.compile(), root, allow_breaking=True)
    assert read_config(root, "vector_v1").ensemble_scheduling.step[0].model_name == "vector_1_host0"


def test_what_an_export_that_was_cut_off_has_left_is_stepped_over_or_named(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "vector_1_dense").mkdir(parents=True)
    with pytest.raises(ExportError, match="vector_1_dense is there, and no version 1 of vector"):
        export(tiny.vector_pipeline(tmp_path).compile(), root, version=1)
    assert export(tiny.vector_pipeline(tmp_path).compile(), root)[-2:] == ("vector_v2", "vector")


@pytest.mark.parametrize("version", [0, -1, True, 1.5, "1"])
def test_a_version_is_a_whole_number(tmp_path: Path, version: Any) -> None:
    with pytest.raises(ExportError, match=f"version is {version!r}"):
        export(tiny.vector_pipeline(tmp_path).compile(), tmp_path / "models", version=version)


def test_a_place_that_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "deep")
    for place in ("file", "file/models", "link"):
        with pytest.raises(ExportError, match=f"{place} cannot be a folder"):
            export(tiny.vector_pipeline(tmp_path).compile(), tmp_path / place)


def test_a_name_too_long_for_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="a folder's name has 255 at most"):
        export(tiny.vector_pipeline(tmp_path).compile(name_prefix="p" * 250), tmp_path / "new" / "models")
    assert not (tmp_path / "new").exists()  # what comes to nothing leaves nothing


def test_a_version_with_a_model_missing_is_not_pointed_at(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(tiny.vector_pipeline(tmp_path).compile(), root)
    export(tiny.vector_pipeline(tmp_path).compile(), root)
    (root / "vector_1_dense" / "config.pbtxt").unlink()
    with pytest.raises(ExportError, match="vector_v1 needs vector_1_dense, which is not there"):
        activate(root, "vector", 1, "24.02")
    (root / "vector_v1" / "config.pbtxt").unlink()
    with pytest.raises(ExportError, match="vector_v1 is there, and its config cannot be read"):
        activate(root, "vector", 1, "24.02")
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_2_host0"
