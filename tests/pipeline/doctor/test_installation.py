from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

import ops
from pipeline.doctor.installation import (
    compile_cache,
    examine_installation,
    for_some_commands,
    onnx_runtime,
    opencv,
    origin,
)


def distribution(folder: Path, name: str, version: str, module: str) -> None:
    """What an installer leaves behind of a distribution with one module."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "top_level.txt").write_text(f"{module}\n", encoding="utf-8")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n", encoding="utf-8")


def test_both_wheels_of_opencv_are_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    distribution(tmp_path, "opencv-python", "4.11.0.86", "cv2")
    check = next(check for check in examine_installation() if check.name == "opencv")
    assert not check.ok
    assert "opencv-python 4.11.0.86" in check.seen
    assert "opencv-python-headless" in check.seen
    assert "pip uninstall opencv-python-headless opencv-python" in check.fix


def test_no_wheel_of_opencv_is_one_too_few() -> None:
    check = opencv({})
    assert (check.ok, check.fix) == (False, "pip install opencv-python-headless")
    assert opencv({"opencv-contrib-python": "5.0"}).ok


def test_a_foreign_distribution_of_ops_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    distribution(tmp_path, "ops", "2.99.1", "ops")
    check = next(check for check in examine_installation() if check.name == "ops")
    assert not check.ok
    assert check.seen.endswith("; also in ops 2.99.1")
    assert check.fix == "install gepipe into an environment of its own: pip uninstall ops"


def test_our_own_packages_say_where_they_are() -> None:
    check = origin("ops", ())
    assert check.ok
    assert check.seen.startswith("gepipe")
    assert check.seen.endswith(str(Path(ops.__file__).parent))
    try:
        installed = importlib.metadata.version("gepipe")
    except importlib.metadata.PackageNotFoundError:
        assert "(a folder, not installed)" in check.seen
    else:
        assert installed in check.seen
    assert origin("ops", ("gepipe",)).ok


def test_a_package_from_elsewhere_is_found() -> None:
    check = origin("json", ())
    assert not check.ok
    assert "not beside pipeline" in check.seen


def test_the_compile_cache_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    assert (compile_cache().ok, compile_cache().seen) == (True, str(tmp_path / "cache"))
    monkeypatch.setenv("GEPIPE_CACHE", "off")
    assert (compile_cache().ok, compile_cache().seen) == (True, "GEPIPE_CACHE is off")
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "file"))
    check = compile_cache()
    assert not check.ok
    assert str(tmp_path / "file") in check.seen
    assert check.fix == "give GEPIPE_CACHE a folder that can be written, or set it to off"


def test_the_onnxruntime_of_cann_is_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    distribution(tmp_path, "onnxruntime-cann", "1.24.4", "onnxruntime")
    check = next(check for check in examine_installation() if check.name == "onnxruntime")
    assert not check.ok
    assert "onnxruntime-cann 1.24.4" in check.seen
    assert check.fix.startswith("keep one: pip uninstall onnxruntime onnxruntime-cann, then pip install onnxruntime;")


def test_the_onnxruntime_of_cann_alone_needs_numpy_1() -> None:
    found = {"onnxruntime-cann": "1.24.4"}
    good, bad = onnx_runtime(found, "1.26.4"), onnx_runtime(found, "2.4.0")
    assert good.ok
    assert "falls back to the CPU in silence" in good.seen
    assert not bad.ok
    assert "it cannot be imported with numpy 2" in bad.fix
    assert onnx_runtime({"onnxruntime": "1.23.0"}, "2.4.0").ok
    assert onnx_runtime({}, "2.4.0").fix == "pip install onnxruntime"


def test_what_only_some_commands_need_is_told_and_never_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_HOME_PATH", str(tmp_path))
    checks = {check.name: check for check in for_some_commands()}
    assert list(checks) == ["tritonserver", "tritonclient", "torch"]
    assert all(check.ok for check in checks.values())
    assert checks["tritonserver"].seen == f"TRITON_HOME_PATH is {tmp_path}, and there is no bin/tritonserver in it"
    monkeypatch.delenv("TRITON_HOME_PATH")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path))
    assert "fetches 24.02" in next(iter(for_some_commands())).seen
