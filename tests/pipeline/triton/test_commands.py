from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import gepipe
from lint_case import config, ensemble, host, step
from lint_npu import npu_config, npu_model


def test_lint_prints_each_finding_with_its_place_and_remedy(tmp_path: Path) -> None:
    host("a", config("max_batch_size: -1")).write(tmp_path)
    result = gepipe("lint", str(tmp_path))
    assert result.exit_code == 1
    assert f"{tmp_path}: 1 finding" in result.stdout
    assert f"{tmp_path / 'a' / 'config.pbtxt'}:2: M05 refused" in result.stdout
    assert "fix: write 0, or a batch size" in result.stdout


def test_lint_of_a_sound_repository(tmp_path: Path) -> None:
    host("a", config()).write(tmp_path)
    result = gepipe("lint", str(tmp_path))
    assert result.exit_code == 0
    assert "no problem found" in result.stdout


def test_advice_counts_only_with_strict(tmp_path: Path) -> None:
    host("a", config()).write(tmp_path)
    ensemble("e", [step("a", {"x": "in"}, {"y": "out"}, "model_version: 1")]).write(tmp_path)
    assert gepipe("lint", str(tmp_path)).exit_code == 0
    assert gepipe("lint", str(tmp_path), "--strict").exit_code == 1


def test_lint_as_json(tmp_path: Path) -> None:
    host("a", "input {").write(tmp_path)
    (finding,) = json.loads(gepipe("lint", str(tmp_path), "--json").stdout)["findings"]
    assert (finding["rule"], finding["severity"]) == ("M01", "refused")
    assert set(finding) == {"rule", "severity", "where", "message", "fix"}


def test_lint_looks_at_the_environment_of_a_server_that_runs_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = npu_model(tmp_path, npu_config())
    monkeypatch.setenv("GE_NPU_CONFIG", '{"ge.x": 1}')
    result = gepipe("lint", str(model.parent))
    assert result.exit_code == 1
    assert "V29 fails" in result.stdout


def test_lint_of_what_is_not_there(tmp_path: Path) -> None:
    result = gepipe("lint", str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "is no folder" in result.output
    assert gepipe("lint", str(tmp_path), "--target", "23.01").exit_code == 2


@pytest.mark.parametrize("command", ["lint", "verify", "serve"])
def test_a_models_own_folder_is_told_from_a_repository(command: str, tmp_path: Path) -> None:
    host("pets", config()).write(tmp_path)
    (tmp_path / "bare" / "1").mkdir(parents=True)
    (tmp_path / "bare" / "1" / "model.onnx").write_bytes(b"")
    for name in ("pets", "bare"):
        result = gepipe(command, str(tmp_path / name))
        assert result.exit_code == 2
        assert f"{tmp_path / name} is the folder of one model" in result.output
        assert f"fix: give the repository that it is in: {tmp_path}\n" in result.output


def test_models_may_be_called_by_numbers(tmp_path: Path) -> None:
    host("1", config()).write(tmp_path)
    assert gepipe("lint", str(tmp_path)).exit_code == 0


def test_lint_of_a_folder_without_models_does_not_praise_it(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("no model")
    result = gepipe("lint", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path} holds no model" in result.output


def test_the_rules_of_triton_are_in_the_rule_book() -> None:
    result = gepipe("rule", "v17")
    assert result.exit_code == 0
    assert "gears cover every batch that can arrive" in result.stdout
