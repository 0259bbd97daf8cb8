from __future__ import annotations

import pytest

from pipeline.triton.log_doctor import explain_log

# As CANN's own pages and its users' reports print them.
KNOWN = {
    "E10016: Opname [x] specified in [--input_shape] is not found in the model": "by a name",
    "E10501: IR for operator type [Gelu] is not registered": "no such operator",
    "aclInit failed, ACL_ERROR_REPEAT_INITIALIZE": "torch_npu",
    "[ERROR] acl.mdl.execute_async ret 107002": "without a context",
    "set_dynamic_batch_size failed, ret 145013": "no gear",
    "EL0004 aclrtMalloc failed, errorCode = 207001": "no memory",
    "ImportError: libascend_hal.so: cannot open shared object file": "driver's library",
    "Unsupported string: ascend. Fallback to cpu": "all runs on the CPU",
    "Failed to load library libonnxruntime_providers_cann.so: libascendcl.so": "all runs on the CPU",
    "AttributeError: `np.float_` was removed in the NumPy 2.0 release": "numpy 2",
    "AttributeError: _ARRAY_API not found": "numpy 2",
    "TypeError: cannot pickle 'FrameLocalsProxy' object": "too new",
    "ModuleNotFoundError: No module named 'decorator'": "lack a package",
    "ModuleNotFoundError: No module named 'acl'": "not in the environment",
    "E16002: No ONNX parser is registered for optype ai.onnx::20::Gelu": "no parser",
    "No parser is registered for Op [ai.onnx::22::Conv]": "no parser",
    "E19999: opp version of the model does not match": "another CANN",
    "rtStreamSynchronize failed, 507035": "a vector core failed",
    "E13025: The input tensor dimension [3] is not in the list": "no gear",
}


@pytest.mark.parametrize("line", list(KNOWN))
def test_a_line_is_explained(line: str) -> None:
    (found,) = explain_log([line])
    assert KNOWN[line] in found.entry.meaning
    assert found.entry.fix


def test_any_other_module_that_is_missing_is_the_server_s() -> None:
    (found,) = explain_log(["ModuleNotFoundError: No module named 'cv2'"])
    assert found.entry.meaning == "the server's Python lacks a module"
