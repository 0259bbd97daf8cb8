"""Every rule of Triton repositories, as `gepipe rule` shows them."""

from __future__ import annotations

from .rulebook.advice import ADVICE
from .rulebook.ensembles import ENSEMBLES
from .rulebook.models import MODELS
from .rulebook.npu_ge import NPU_GE
from .rulebook.requests import REQUESTS

TRITON_RULES = (*ENSEMBLES, *MODELS, *REQUESTS, *ADVICE, *NPU_GE)
