from __future__ import annotations

from pathlib import Path

import pytest

from ge_engine.om.cann import cann_version


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A toolkit that the environment names."""
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.mark.parametrize(
    ("note", "text", "version"),
    [
        ("aarch64-linux/ascend_toolkit_install.info", "package_name=Ascend-cann-toolkit\nversion=8.0.RC1\n", "8.0.RC1"),
        ("ascend_toolkit_install.info", "version=8.5.0\ninnerversion=V100R001\n", "8.5.0"),
        ("version.cfg", "# version\nruntime_running_version=[7.6.0.1.220:8.3.RC1]\n", "8.3.RC1"),
        ("version.info", "Version=9.0.0\n", "9.0.0"),
    ],
)
def test_the_version_is_what_the_installation_says(home: Path, note: str, text: str, version: str) -> None:
    (home / note).parent.mkdir(exist_ok=True)
    (home / note).write_text(text)
    assert cann_version() == version


def test_an_installation_that_does_not_say_it_is_told_by_its_compiler(home: Path) -> None:
    atc = home / "bin" / "atc"
    atc.parent.mkdir()
    atc.touch(0o755)
    before = cann_version()
    assert before.startswith(f"unknown, {atc}")
    atc.write_text("another")
    assert cann_version() != before


def test_nothing_at_all_is_unknown(home: Path) -> None:
    assert cann_version() == "unknown"
