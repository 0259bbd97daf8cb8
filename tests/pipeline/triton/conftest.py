from __future__ import annotations

from served import exported
from triton_servers import triton_server

__all__ = ["exported", "triton_server"]
