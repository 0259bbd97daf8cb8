from __future__ import annotations

from pathlib import Path

import pytest

from ge_engine.model_file import status_of
from ops import ModelError


def refused(path: Path) -> ModelError:
    with pytest.raises(ModelError) as error:
        status_of(str(path), "make it again")
    return error.value


def test_a_file_that_is_there_has_a_size(tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(b"abc")
    assert status_of(str(tmp_path / "m.pb"), "").st_size == 3


def test_what_is_no_model_is_refused_with_the_likely_remedy(tmp_path: Path) -> None:
    (tmp_path / "net.pb").touch()
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    (tmp_path / "link.pb").symlink_to(tmp_path / "nothing")
    assert refused(tmp_path / "nett.pb").fix == "did you mean 'net.pb'?"
    assert "nor a folder" in refused(tmp_path / "no" / "net.pb").message
    assert "a link to what is not there" in refused(tmp_path / "link.pb").message
    assert refused(tmp_path / "net.pb").fix == "make it again"
    assert "is a folder, not a model" in refused(tmp_path).message
    saved = refused(tmp_path / "saved")
    assert "is a SavedModel" in saved.message
    assert saved.fix == f"make one file of it: gepipe convert {tmp_path / 'saved'} -o model.pb"
    assert "is not a file" in refused(Path("/dev/null")).message
    (tmp_path / "net.pt").write_bytes(b"PK")
    assert refused(tmp_path / "net.pt").message == f"{tmp_path / 'net.pt'} is neither ONNX nor a frozen graph"
    assert refused(tmp_path / "net.pt").fix.startswith(f"gepipe convert {tmp_path / 'net.pt'} -o model.onnx")
