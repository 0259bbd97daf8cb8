from __future__ import annotations

from pathlib import Path

import pytest

from ops import ExportError
from pipeline.triton.bundle import unpack_wheels


@pytest.mark.parametrize("platform", ["", "linux", "linux-arm64-cp310", "linux-x86_64-310", "win-x86_64-cp310"])
def test_what_is_no_platform_is_refused_with_the_form(tmp_path: Path, platform: str) -> None:
    with pytest.raises(ExportError, match=f"bundle '{platform}' is not a platform") as caught:
        unpack_wheels(platform, tmp_path)
    assert caught.value.fix == "write it as linux-aarch64-cp310"


def test_what_pip_cannot_get_is_said_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ExportError, match=r"pip cannot get opencv.* for linux-aarch64-cp310: (.|\n)*No matching dist"):
        unpack_wheels("linux-aarch64-cp310", tmp_path / "site")
    assert not (tmp_path / "site").exists()
