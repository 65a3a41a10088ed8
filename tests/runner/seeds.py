"""Seeds of tests that draw their schedules: all of a run follow from one that is printed."""

import os
import random
import secrets
from typing import Final

SEED_VARIABLE: Final = "GPU_RUNTIME_TEST_SEED"


def choose_seed() -> str:
    """The seed of this run: the one in the environment, or a new one that is put there.

    Worker processes inherit it, so that all of them collect the same tests.
    """
    return os.environ.setdefault(SEED_VARIABLE, str(secrets.randbits(32)))


def draw_seeds(test_name: str, count: int = 1) -> list[int]:
    """The seeds of one test in this run."""
    drawn = random.Random(f"{choose_seed()} {test_name}")
    return [drawn.getrandbits(32) for _ in range(count)]
