"""The rule book of Triton repositories, as `gepipe rule` shows it."""

from __future__ import annotations

from .advice import ADVICE
from .ensembles import ENSEMBLES
from .models import MODELS
from .npu_ge import NPU_GE
from .requests import REQUESTS

TRITON_RULES = (*ENSEMBLES, *MODELS, *REQUESTS, *ADVICE, *NPU_GE)
