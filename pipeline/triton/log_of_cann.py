"""What CANN, pyACL and what stands on them say, in any log: a pattern, its meaning, and what to do."""

from __future__ import annotations

_DOCTOR = "`gepipe doctor` says which fit this CANN"

CANN = (
    (
        r"\bE10016\b",
        "atc was given an input by a name that the model does not have",
        "take the names from the model, as gepipe does: `gepipe plan` shows them",
    ),
    (r"\bE10501\b", "CANN has no such operator", "export with another opset, up to 18, or update CANN"),
    (
        r"REPEAT_INITIALIZE|\b100002\b",
        "ACL was initialised already in this process, as by torch_npu",
        "gepipe shares it; onnxruntime's own provider falls back to the CPU: keep it out of the process",
    ),
    (
        r"\b107002\b",
        "a thread used the card without a context",
        "call acl.rt.set_context in each thread; gepipe does so for its own",
    ),
    (r"\b145013\b", "a shape was asked for that is no gear", "compile with that gear, or pad to one"),
    (
        r"\b(200000|207001)\b",
        "no memory on the card",
        "fewer streams or smaller gears; npu-smi info shows what else is on it",
    ),
    (
        r"libascend_hal\.so",
        "the driver's library is not found",
        "put /usr/local/Ascend/driver/lib64/driver on LD_LIBRARY_PATH; mount the driver into a container",
    ),
    (
        r"(?i:fallback to cpu)|Failed to load library.*(?:libascendcl|providers_cann)",
        "onnxruntime's provider for CANN is not there: all runs on the CPU",
        "run cards by device='npu:0'; `gepipe doctor` finds the clash of packages",
    ),
    (r"np\.float_\b.*removed|_ARRAY_API not found", "numpy 2, where numpy 1 is needed", _DOCTOR),
    (r"FrameLocalsProxy", "this Python is too new for CANN's operators", _DOCTOR),
    (
        r"No module named '(?:attrs?|cffi|decorator|psutil|scipy|sympy|yaml)'",
        "CANN's operators lack a package in the Python that atc runs",
        f"{_DOCTOR}, and names the command",
    ),
    (
        r"No module named '(?:acl|tbe|te)\b",
        "CANN is not in the environment of this process",
        "source the set_env.sh of the CANN toolkit",
    ),
)
