from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import ops

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "ops_table.py"


@pytest.fixture(scope="module")
def ops_table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ops_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_exported_op_has_a_row_and_every_section(ops_table: ModuleType) -> None:
    exported = [value for name in ops.__all__ if isinstance(value := getattr(ops, name), type)]
    classes = [cls for cls in exported if issubclass(cls, ops.Op) and cls is not ops.Op]
    assert classes
    assert set(classes) <= set(ops_table.op_classes())
    for cls in classes:
        assert set(ops_table.sections(cls)) == set(ops_table.SECTIONS), cls.__name__


def test_every_input_and_output_has_a_line(ops_table: ModuleType) -> None:
    for cls in ops_table.op_classes():
        sections = ops_table.sections(cls)
        assert len(sections["Input"]) == len(ops.Op.input_names.fget(cls)) - 1, cls.__name__  # less self
        outputs = 1 if cls._bundle is None else len(cls._bundle._fields)
        assert len(sections["Output"]) == outputs, cls.__name__


def test_an_entry_may_go_on_in_a_deeper_line(ops_table: ModuleType) -> None:
    class Documented(ops.Op[ops.Edge]):
        """What it does.

        Input:      a  float32[n]  first,
                                   and more
                    b  float32[n]  second
        Deviation:  none

        Input of what follows is no section.
        """

    entries = ops_table.sections(Documented)
    assert entries == {"Input": ["a  float32[n]  first, and more", "b  float32[n]  second"], "Deviation": ["none"]}
    with pytest.raises(AssertionError, match="Documented has no section Output:"):
        ops_table.row(Documented)


def test_each_op_is_shown_as_it_is_called_and_so_is_each_kind_of_input(ops_table: ModuleType) -> None:
    assert ops_table.signature(ops.TopK) == "TopK(k, labels=())"
    page = ops_table.table()
    for cls in ops_table.op_classes():
        assert f"| `{cls.__name__}(" in page
    for spec in ("ops.ENCODED_IMAGE", "ops.TEXT", "ops.TensorSpec("):
        assert spec in page


def test_the_page_is_what_the_script_makes(ops_table: ModuleType) -> None:
    page = ops_table.PAGE.read_text(encoding="utf-8")
    assert page == ops_table.table(), "docs/ops.md is out of date: run python scripts/ops_table.py"
