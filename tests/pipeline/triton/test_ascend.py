from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.triton.ascend import ascend_command, shared_memory
from pipeline.triton.config import ConfigError, parse

HOST = """
name: "host" backend: "python" max_batch_size: 8
input [ { name: "image" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 640, 640 ] } ]
instance_group [ { count: 2 kind: KIND_CPU } ]
"""
DEVICE = """
name: "device" backend: "npu_ge" max_batch_size: 8
parameters { key: "device_ids" value { string_value: "2,5" } }
"""


def repository(folder: Path, **configs: str) -> Path:
    for name, text in configs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "config.pbtxt").write_text(text)
    return folder


def words(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", ""), comments=True)


def test_the_cards_of_the_configs_are_given_to_the_container(tmp_path: Path) -> None:
    more = DEVICE.replace("2,5", "0").replace("device", "other", 1)
    got = words(ascend_command(repository(tmp_path / "a b", host=HOST, device=DEVICE, other=more), "24.02"))
    assert [word for word in got if word.startswith("--device=/dev/davinci") and word[-1].isdigit()] == [
        "--device=/dev/davinci0", "--device=/dev/davinci2", "--device=/dev/davinci5",
    ]  # fmt: skip
    assert {"--device=/dev/davinci_manager", "--device=/dev/devmm_svm", "--device=/dev/hisi_hdc"} <= set(got)
    assert "--volume=/usr/local/Ascend/driver:/usr/local/Ascend/driver:ro" in got
    assert f"--volume={tmp_path}/a b:/models:ro" in got
    assert "--publish=127.0.0.1:8001:8001" in got
    assert "--env=MALLOC_MMAP_MAX_=0" in got
    assert got[-2:] == ["tritonserver", "--model-repository=/models"]


def test_without_device_ids_the_container_gets_every_card(tmp_path: Path) -> None:
    command = ascend_command(repository(tmp_path, host=HOST), "24.02", backend_config=["npu_ge,profiling=1"], poll=True)
    assert "/dev/davinci[0-9]*" in command
    assert words(command)[-3:] == [
        "--model-control-mode=poll", "--repository-poll-secs=1", "--backend-config=npu_ge,profiling=1",
    ]  # fmt: skip


def test_shared_memory_holds_two_batches_of_each_instance() -> None:
    batch = 8 * (4 * 2**20 + 4 * 3 * 640 * 640)
    got = shared_memory([parse(HOST), parse(DEVICE)])
    assert 2 * 2 * batch < got <= 2 * 2 * batch + 2 * 64 * 2**20
    assert got % (64 * 2**20) == 0
    assert shared_memory([]) == 64 * 2**20  # docker's own default


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"host/config.pbtxt: 1:17: "):
        ascend_command(repository(tmp_path, host="max_batch_size: many"), "24.02")


def test_the_command_is_good_shell(tmp_path: Path) -> None:
    command = ascend_command(repository(tmp_path, device=DEVICE), "24.02")
    bash = shutil.which("bash")
    assert bash is not None
    code = f"docker() {{ printf '%s\\n' \"$@\"; }}; IMAGE='the image'\n{command}"
    got = subprocess.run([bash, "-euc", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert got == [word if word != "$IMAGE" else "the image" for word in words(command)[1:]]
