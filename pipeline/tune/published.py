"""What others have published: series of measurements on NPUs, to fit the timing model on where there is no card."""

from __future__ import annotations

from .timing import Series

FITTED_ON = (1, 2, 8)  # streams; the other five show how far off the model is

CN_CLIP = Series(
    "the npu_ge backend's CN_CLIP example: image model, static, batch 1, a client a stream (perf_analyzer)",
    {
        None: dict(enumerate((232.5, 342.7, 416.1, 489.3, 542.8, 569.9, 605.4, 629.3), start=1)),
        "12|10": dict(enumerate((236.2, 425.4, 583.5, 696.4, 773.5, 813.6, 865.6, 850.2), start=1)),
    },
)
