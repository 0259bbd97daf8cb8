"""Hold a server against golden requests. Needs numpy and tritonclient[http], nothing else.

python verify.py HOST:HTTP_PORT [golden.json]
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

INSTALL = 'pip install "tritonclient[grpc,http]"'


class Row(NamedTuple):
    """One output of one request: whether it is right, and by how much it differs."""

    request: int
    asked: str
    output: str
    ok: bool
    how: str

    def __str__(self) -> str:
        return f"request {self.request}, {self.asked}: {self.output}: {self.how}"


def check(url: str, golden: dict[str, Any], exact: bool) -> list[Row]:
    """Send every request, once for all outputs and once for each alone.

    exact: the bytes must be equal; else numbers may differ by the recorded tolerance.
    Errors: ConnectionError when nothing answers HTTP there.
    """
    import tritonclient.http as client

    rows = []
    with client.InferenceServerClient(url) as server:
        try:
            server.is_server_live()
        except Exception as error:  # the client lets through what its HTTP parser raises
            raise ConnectionError(f"{url} does not answer by HTTP: {error}") from error
        for number, request in enumerate(golden["requests"]):
            inputs = inputs_of(client, {name: decode(value) for name, value in request["inputs"].items()})
            wanted = {name: decode(value) for name, value in request["outputs"].items()}
            for names in (list(wanted), *([name] for name in wanted if len(wanted) > 1)):
                outputs = [client.InferRequestedOutput(name) for name in names]
                asked = "all" if len(names) == len(wanted) else "alone"
                try:
                    result = server.infer(golden["model"], inputs, outputs=outputs)
                except Exception as error:  # whatever the server says is the finding
                    rows += [Row(number, asked, name, False, str(error)) for name in names]
                    continue
                for name in names:
                    ok, how = compare(result.as_numpy(name), wanted[name], golden["tolerance"], exact)
                    rows.append(Row(number, asked, name, ok, how))
    return rows


def inputs_of(client: Any, tensors: Mapping[str, Any]) -> list[Any]:
    """Arrays by name as the inputs of a request. client: tritonclient.http, or .grpc."""
    from tritonclient.utils import np_to_triton_dtype

    inputs = []
    for name, array in tensors.items():
        inputs.append(client.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        inputs[-1].set_data_from_numpy(array)
    return inputs


def compare(got: Any, want: Any, tolerance: float, exact: bool) -> tuple[bool, str]:
    """Whether an output is right, and in words how it compares."""
    if got is None:
        return False, "no such output"
    if got.shape != want.shape or got.dtype != want.dtype:
        return False, f"{got.dtype}{list(got.shape)}, wanted {want.dtype}{list(want.shape)}"
    if got.dtype == object:
        return bool((got == want).all()), "same bytes" if (got == want).all() else "other bytes"
    if got.tobytes() == want.tobytes():
        return True, "same bytes"
    if not np.issubdtype(got.dtype, np.floating):
        return False, f"{int((got != want).sum())} of {got.size} numbers differ"
    got, want = (array.astype(np.float64) for array in (got, want))
    other = ~((got == want) | (np.isnan(got) & np.isnan(want)))  # inf - inf is no difference
    with np.errstate(invalid="ignore"):
        gaps = np.abs(got[other] - want[other]) / np.maximum(np.abs(want[other]), 1.0)
    gap = float(np.max(np.where(np.isnan(gaps), np.inf, gaps), initial=0.0))
    within = gap <= tolerance
    return within and not exact, f"differs by {gap:.1e}" + ("" if within else f", more than {tolerance:.0e}")


def decode(value: dict[str, Any]) -> Any:
    """An array from its JSON form."""
    if value["dtype"] == "bytes":
        array = np.empty(len(value["data"]), object)
        array[:] = [base64.b64decode(item) for item in value["data"]]
    else:
        array = np.frombuffer(base64.b64decode(value["data"]), np.dtype(value["dtype"]).newbyteorder("<"))
        array = array.astype(value["dtype"])
    return array.reshape(value["shape"])


def main() -> int:
    """Print a line for each output; 0 when all are right."""
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    path = (
        sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
    )
    with open(path, encoding="utf-8") as file:
        golden = json.load(file)
    try:
        rows = check(sys.argv[1], golden, exact=False)
    except ConnectionError as error:
        print(f"{error}\nfix: give the server's HTTP port; 8000 is the usual one")
        return 1
    for row in rows:
        print(f"{'ok' if row.ok else 'NO'}  {row}")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
