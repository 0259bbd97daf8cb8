from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ops
from ops import Op

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ops", "ge_engine", "pipeline")
VOCABULARY = ("asset", "errors", "host_stage", "near", "op", "serial", "spec", "unique", "where")

# Tests of something that is not one source file: what they are about instead.
NOT_MIRRORS = {
    "tests/test_docs.py": "docs/",
    "tests/test_docs_ops.py": "scripts/ops_table.py",
    "tests/test_docstrings.py": "every module",
    "tests/npu/test_examples.py": "the examples on a real card",
    "tests/test_docs_ascend.py": "docs/ascend.md",
    "tests/test_house.py": "the repository",
    "tests/test_lay_out_weights.py": "scripts/lay_out_weights.py",
    "tests/test_readme.py": "the README files",
    "tests/test_reference.py": "scripts/reference.py",
    "tests/test_skips.py": "tests/conftest.py",
    "tests/acl_sim/test_atc.py": "tests/acl_sim/atc_sim",
    "tests/acl_sim/test_calls.py": "tests/acl_sim/acl_sim: the life of things",
    "tests/acl_sim/test_descs.py": "tests/acl_sim/acl_sim/mdl_desc.py",
    "tests/acl_sim/test_faults.py": "tests/acl_sim/acl_sim/faults.py, process.py",
    "tests/acl_sim/test_memory.py": "tests/acl_sim/acl_sim: bytes",
    "tests/acl_sim/test_models.py": "tests/acl_sim/acl_sim: models, datasets, streams",
    "tests/acl_sim/test_runs.py": "tests/acl_sim/card.py",
    "tests/acl_sim/test_time.py": "tests/acl_sim/acl_sim/timing.py",
    "tests/pipeline/passes/test_passes.py": "all passes together",
    "tests/pipeline/inspect/test_three_models.py": "inspect, mend, export and serve, as a user would",
    "tests/pipeline/test_frozen_graphs.py": "TensorFlow graphs in a pipeline",
    "tests/pipeline/triton/test_served_frozen.py": "an export of one on a real server",
    "tests/pipeline/test_text_models.py": "Tokenize before a model",
    "tests/pipeline/test_zero_copy.py": "the memory of a request",
    "tests/examples/test_types.py": "the types of both examples",
    "tests/examples/test_clients.py": "examples/*/client.py",
    "tests/pipeline/triton/test_served.py": "exports on a real server",
    "tests/pipeline/triton/test_served_dump.py": "dump_data of an export, on a real server",
    "tests/pipeline/triton/test_served_elsewhere.py": "exports on a server that has nothing of ours",
    "tests/pipeline/triton/test_served_labels.py": "labels of an export, asked of a server",
    "tests/pipeline/triton/test_served_precision.py": "precisions of an export, on a real server",
    "tests/pipeline/triton/test_served_many.py": "many exports on one server",
    "tests/pipeline/triton/test_served_versions.py": "versions of an export under load",
    "tests/pipeline/triton/test_verdicts.py": "pipeline/triton/lint.py, beside real servers",
}

# Folders of one machine, and hosts of package registries.
PRIVATE = re.compile(
    r"/(?:work|root|home)/\w|/tmp/\w|\.pyenv|\bpypi\.org|pythonhosted|deb\.debian|npmjs\.|download\.pytorch|index-url"
)


def tracked() -> list[Path]:
    """The files that git holds or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_the_distribution_has_a_version() -> None:
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert declared is not None
    assert importlib.metadata.version("gepipe") == declared[1]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_the_packages_are_those_of_this_tree() -> None:
    assert Path(ops.__file__).parents[1] == ROOT


def test_no_file_speaks_of_one_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path == Path(__file__).resolve():
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in PRIVATE.finditer(text)]
    assert not found


def imported(package: str) -> Iterator[tuple[str, str]]:
    """Of each import in a package: the module, and the name taken from it ("" for the module itself)."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from ((str(node.module), alias.name) for alias in node.names)


def test_ops_imports_the_standard_library_numpy_and_cv2_and_itself_by_relative_imports() -> None:
    packages = {module.partition(".")[0] for module, _ in imported("ops")}
    assert packages - set(sys.stdlib_module_names) == {"numpy", "cv2"}


def test_ge_engine_imports_the_vocabulary_of_ops_and_no_particular_op() -> None:
    taken = [(module, name) for module, name in imported("ge_engine") if module.partition(".")[0] == "ops"]
    assert {module for module, _ in taken} <= {"ops", *(f"ops.{name}" for name in VOCABULARY)}
    values = [getattr(ops, name) for module, name in taken if module == "ops"]
    assert not [value for value in values if isinstance(value, type) and issubclass(value, Op) and value is not Op]


def test_no_weights_under_another_licence_are_in_the_repository() -> None:
    assert not [path for path in tracked() if "weights" in path.relative_to(ROOT).parts]


def test_every_test_file_mirrors_a_source_file() -> None:
    strangers = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        folder = path.parent.relative_to(ROOT / "tests")
        stem = path.stem.removeprefix("test_")
        source = ROOT / folder / stem
        if not (source.with_suffix(".py").exists() or source.is_dir() or name in NOT_MIRRORS):
            strangers.append(name)
    assert not strangers
    assert all((ROOT / name).exists() for name in NOT_MIRRORS)


def test_the_map_names_every_source_file_and_folder() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = {path.name for package in PACKAGES for path in (ROOT / package).glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for package in PACKAGES for path in (ROOT / package).glob("*/__init__.py")}
    assert not [name for name in sorted(files | folders) if not re.search(rf"\b{re.escape(name)}", page)]
