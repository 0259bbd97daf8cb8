"""What a server tells glibc: blocks that are freed stay with the process.

A tensor of more than 32 MiB is otherwise asked of the system for each request, and costs a page fault for every 4 KiB:
of a picture of 3600 x 3600 pixels that is half of the CPU time of a request.
"""

from __future__ import annotations

KEEP_FREED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(256 << 20)}  # environment variables
