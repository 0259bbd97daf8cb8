from __future__ import annotations

from made_up_cann import machine as machine
from made_up_cann import npu as npu
from made_up_cann import sound as sound
