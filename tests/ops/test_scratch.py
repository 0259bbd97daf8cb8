import threading

import numpy as np

from ops.scratch import KEPT, scratch


def test_a_thread_gets_the_same_memory_again_and_no_other_thread_does() -> None:
    first = scratch("a", (4, 100), np.float64)
    again = scratch("a", (3, 7, 3), np.uint8)
    others = []
    thread = threading.Thread(target=lambda: others.append(scratch("a", (4, 100), np.float64)))
    thread.start()
    thread.join()
    assert again.ctypes.data == first.ctypes.data
    assert not np.shares_memory(others[0], first)
    assert not np.shares_memory(scratch("b", (4, 100), np.float64), first)


def test_what_is_larger_than_what_is_kept_is_made_each_time() -> None:
    huge = scratch("a", (KEPT + 1,), np.uint8)
    assert not np.shares_memory(huge, scratch("a", (KEPT + 1,), np.uint8))
