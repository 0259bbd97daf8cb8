from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_engine.npz import NpzWriter


def test_numpy_reads_what_was_written_whatever_its_name_and_type(tmp_path: Path) -> None:
    values = {
        "/model.0/Conv output:0": np.arange(6, dtype=np.float16).reshape(2, 3),
        "file": np.array(True),
        "../猫": np.zeros((0, 4), np.int64),
        "turned": np.arange(6).reshape(2, 3).T,
    }
    with NpzWriter(tmp_path / "a.npz") as npz:
        for name, value in values.items():
            npz.add(name, value)
    with np.load(tmp_path / "a.npz") as found:
        assert list(found) == list(values)
        for name, value in values.items():
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)


def test_what_is_not_whole_is_not_there(tmp_path: Path) -> None:
    with NpzWriter(tmp_path / "a.npz") as npz:
        npz.add("x", np.zeros(2))
        assert not (tmp_path / "a.npz").exists()
    with pytest.raises(ValueError, match="Object arrays"), NpzWriter(tmp_path / "b.npz") as npz:
        npz.add("x", np.zeros(2, [("a", object)]))
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """With a limit on the size of files, which fails as a full disk does."""
    program = (
        "import resource, signal, sys, pathlib, numpy as np\nfrom ge_engine.npz import NpzWriter\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with NpzWriter(pathlib.Path(sys.argv[1])) as npz: npz.add('x', np.zeros(9999))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.npz")], capture_output=True, text=True, check=False
    )
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_bytes_and_texts_need_no_pickle(tmp_path: Path) -> None:
    with NpzWriter(tmp_path / "a.npz") as npz:
        npz.add("jpeg", b"\xff\xd8\x00")
        npz.add("texts", np.array(["猫", "a dog"], object))
        npz.add("words", np.array([b"a", b"bc"], object))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert found["jpeg"].tobytes() == b"\xff\xd8\x00"
        assert found["texts"].tolist() == ["猫", "a dog"]
        assert found["words"].tolist() == [b"a", b"bc"]
