from __future__ import annotations

from acl_sim.fixtures import npu as npu
