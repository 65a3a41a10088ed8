"""Seeds of random schedules, all derived from the printed seed of the run."""

import os
import random
import secrets
from typing import Final

SEED_VARIABLE: Final = "GPU_RUNTIME_TEST_SEED"


def choose_seed() -> str:
    """Return the seed of this run: the one in the environment, or a new one.

    The seed is put into the environment, so that worker processes collect the same tests.
    """
    return os.environ.setdefault(SEED_VARIABLE, str(secrets.randbits(32)))


def draw_seeds(test_name: str, count: int = 1) -> list[int]:
    """Return the seeds of one test in this run."""
    drawn = random.Random(f"{choose_seed()} {test_name}")
    return [drawn.getrandbits(32) for _ in range(count)]
