"""What is parsed was published by users of those cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.bench.npu_smi import available, parse, usage

ATLAS_800 = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.3                   Version: 23.0.3                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B2               | OK            | 96.9        40                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3334 / 65536         |
+===========================+===============+====================================================+
| 1     910B2               | OK            | 96.3        40                0    / 0             |
| 0                         | 0000:C2:00.0  | 57          0    / 0          3334 / 65536         |
+===========================+===============+====================================================+
"""
ATLAS_300I_DUO = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0.1                                 Version: 24.1.0.1                                     |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 5       310P3                 | OK              | NA           59                0     / 0             |
| 0       0                     | 0000:81:00.0    | 0            1492 / 44280                            |
+-------------------------------+-----------------+------------------------------------------------------+
| 5       310P3                 | OK              | NA           58                0     / 0             |
| 1       1                     | 0000:81:00.0    | 93           1426 / 43693                            |
+===============================+=================+======================================================+
"""
ATLAS_200 = """\
| NPU     Name      | Health          | Power(W)          Temp(C)              |
| Chip    Device    | Bus-Id          | AICore(%)         Memory-Usage(MB)     |
+===================+=================+========================================+
| 0       310       | OK              | 12.8              58                   |
| 0       0         | NA              | 4                 5324 / 8192          |
+===================+=================+========================================+
"""


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        (ATLAS_800, {"0.0": 0, "1.0": 57}),
        (ATLAS_300I_DUO, {"5.0": 0, "5.1": 93}),
        (ATLAS_200, {"0.0": 4}),
        ("dcmi module initialize failed. ret is -8005", {}),
    ],
)
def test_the_use_of_each_chip_is_read(text: str, chips: dict[str, float]) -> None:
    assert parse(text) == chips


def test_the_program_is_asked_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not available()
    assert usage() == {}
    program = tmp_path / "npu-smi"
    program.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{ATLAS_800}END\n")
    program.chmod(0o755)
    assert available()
    assert usage() == {"0.0": 0, "1.0": 57}
    program.write_text("#!/bin/sh\nexit 1\n")
    assert usage() == {}
