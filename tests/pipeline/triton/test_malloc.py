from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from triton_servers import Start, model

pytestmark = pytest.mark.triton

LARGE = """import resource

import numpy as np
import triton_python_backend_utils as pb


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class TritonPythonModel:
    def execute(self, requests):
        before = faults()
        np.ones(48 << 20, np.uint8)
        counted = np.full((1, 2), faults() - before, np.float32)
        return [pb.InferenceResponse([pb.Tensor("y", counted)]) for _ in requests]
"""


def test_a_large_array_of_a_host_stage_takes_the_memory_of_the_one_before_it(
    tmp_path: Path, triton_server: Start
) -> None:
    grpc = pytest.importorskip("tritonclient.grpc")
    model(tmp_path, "large", code=LARGE)
    with grpc.InferenceServerClient(triton_server(tmp_path).grpc_url) as client:
        value = grpc.InferInput("x", [1, 2], "FP32")
        value.set_data_from_numpy(np.zeros((1, 2), np.float32))
        counted = [float(client.infer("large", [value]).as_numpy("y")[0, 0]) for _ in range(3)]
    assert counted[-1] < 1000, counted  # of 12,288 pages
