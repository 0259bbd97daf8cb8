from __future__ import annotations

from triton_servers import triton_server

__all__ = ["triton_server"]
