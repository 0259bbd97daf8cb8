"""The command that serves a repository on a machine with Ascend cards."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ops import GepipeError

from .config import CONFIG, instances_of, parse
from .malloc import KEEP_FREED
from .ports import USUAL
from .schema import enum_name
from .tensor import ITEM_BYTES

DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
_DRIVER = ("/usr/local/Ascend/driver", "/usr/local/dcmi", "/usr/local/bin/npu-smi", "/etc/ascend_install.info")
_ALL_CARDS = "$(printf -- '--device=%s ' /dev/davinci[0-9]*)"

_MEBIBYTE = 1 << 20
_ENCODED = 4 * _MEBIBYTE  # a large photo
_UNKNOWN_DIM = 1024
_SHM_STEP = 64 * _MEBIBYTE  # docker's own default, and a room for what is not counted
_ITEM_BYTES = {**ITEM_BYTES, "TYPE_STRING": _ENCODED}


def ascend_command(
    repository: Path,
    target: str,
    *,
    ports: Sequence[int] = USUAL,
    address: str = "127.0.0.1",
    backend_config: Sequence[str] = (),
    poll: bool = False,
) -> str:
    """A `docker run` for the image of the npu_ge backend: cards, driver, shared memory, ports and the repository.

    Errors: ConfigError for a config.pbtxt that cannot be read, with its file, line and column.
    """
    configs = list(_configs(repository, target))
    cards = sorted({card for config in configs for card in _device_ids(config)})
    devices = [f"--device=/dev/davinci{card}" for card in cards] or [_ALL_CARDS]
    server = [
        "tritonserver",
        "--model-repository=/models",
        *(["--model-control-mode=poll", "--repository-poll-secs=1"] if poll else []),
        *(f"--backend-config={setting}" for setting in backend_config),
    ]
    lines = [
        "docker run --rm",
        " ".join(devices),
        " ".join(f"--device={device}" for device in DEVICES),
        *(f"--volume={path}:{path}:ro" for path in _DRIVER),
        f"--volume={shlex.quote(str(repository.resolve()))}:/models:ro",
        f"--shm-size={math.ceil(shared_memory(configs) / _MEBIBYTE)}m",
        " ".join(f"--publish={address}:{port}:{usual}" for port, usual in zip(ports, USUAL)),
        " ".join(f"--env={name}={value}" for name, value in KEEP_FREED.items()),
        "--workdir=/opt",  # the backend writes where it is started, which must not be the repository
        '"$IMAGE"',
        shlex.join(server),
    ]
    return "\n".join(
        [
            f"# IMAGE: the npu_ge backend's image for your card, with Triton {target}. It runs the repository's code.",
            "# Some runtimes number the cards of a container from 0: if it finds no card, give device_ids so.",
            " \\\n  ".join(lines),
        ]
    )


def shared_memory(configs: Sequence[Any]) -> int:
    """What the host stages need in /dev/shm, in bytes: inputs and outputs of a batch, twice, for each instance."""
    host = [config for config in configs if config.backend == "python"]
    needed = sum(instances_of(config) * max(2 * _MEBIBYTE, 2 * _batch_bytes(config)) for config in host)
    return _SHM_STEP * (1 + math.ceil(needed / _SHM_STEP))


def _configs(repository: Path, target: str) -> Iterator[Any]:
    for path in sorted(repository.glob(f"*/{CONFIG}")):
        try:
            yield parse(path.read_text(encoding="utf-8"), target)
        except GepipeError as error:
            raise error.at(str(path)) from None


def _device_ids(config: Any) -> list[int]:
    if config.backend != "npu_ge" or "device_ids" not in config.parameters:
        return []
    words = config.parameters["device_ids"].string_value.split(",")
    return [int(word) for word in words if word.strip().isdigit()]


def _batch_bytes(config: Any) -> int:
    sizes = [_tensor_bytes(tensor) for tensor in (*config.input, *config.output)]
    rows: int = max(1, config.max_batch_size)
    return rows * sum(sizes)


def _tensor_bytes(tensor: Any) -> int:
    item = _ITEM_BYTES.get(enum_name(tensor, "data_type"), 4)
    dims: list[int] = list(tensor.dims)
    return int(item * math.prod(dim if dim > 0 else _UNKNOWN_DIM for dim in dims))
