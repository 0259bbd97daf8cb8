from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ops import WrongUse
from pipeline.tune.csv_rows import cell, csv_rows


def anything(names: Sequence[str], where: str) -> None:
    return


def file(folder: Path, data: bytes) -> Path:
    path = folder / "rows.csv"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("data", [b"a,b\n1,2\n\n3\n", b"\xef\xbb\xbfa, b\r\n1, 2\r\n\r\n3\r\n"])
def test_rows_come_with_their_place_whatever_ends_a_line(tmp_path: Path, data: bytes) -> None:
    path = file(tmp_path, data)
    rows = [(where, cell(row, "a"), cell(row, "b")) for where, row in csv_rows(path, anything)]
    assert rows == [(f"{path}:2", "1", "2"), (f"{path}:4", "3", "")]


def test_columns_that_are_not_wanted_are_refused_with_their_place(tmp_path: Path) -> None:
    def refuse(names: Sequence[str], where: str) -> None:
        raise WrongUse(f"{where} has {names}")

    path = file(tmp_path, b"a,b\n1,2\n")
    with pytest.raises(WrongUse, match=r"rows\.csv:1 has \['a', 'b'\]"):
        list(csv_rows(path, refuse))


@pytest.mark.parametrize("data", [b"a\n\xff\n", b"\xff\xfea\x00\n\x00"])
def test_what_is_no_utf_8_cannot_be_read(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(WrongUse, match=r"rows\.csv cannot be read"):
        list(csv_rows(file(tmp_path, data), anything))


@pytest.mark.parametrize("between", [b";", b"\t"])
def test_columns_that_commas_do_not_separate_are_pointed_out(tmp_path: Path, between: bytes) -> None:
    with pytest.raises(WrongUse, match="the heading is one column") as caught:
        list(csv_rows(file(tmp_path, b"a%bb\n1%b2\n" % (between, between)), anything))
    assert caught.value.fix == "separate by commas"


def test_a_heading_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="there is nothing below the heading"):
        list(csv_rows(file(tmp_path, b"a,b\n"), anything))
