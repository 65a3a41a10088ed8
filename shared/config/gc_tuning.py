"""How often the process looks for garbage that refers to itself."""

import gc
from typing import Final

# Our programs leave next to none; with Python's own thresholds looking takes a sixth of the API's
# time.
GC_THRESHOLDS: Final = (20_000, 20, 50)


def tune_gc() -> None:
    """Leave alone what was loaded at the start, and look for new garbage now and then only."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
