"""`make soak`: many random schedules, one after the other; replay one with `--seed`."""

import argparse
import logging
import sys

from tests.model.run_plan import run_and_check_all

PROGRESS_INTERVAL = 500


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first schedule")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seeds = range(options.seed, options.seed + options.schedules)
    for number, _ in enumerate(run_and_check_all(seeds), start=1):
        if number % PROGRESS_INTERVAL == 0 or number == options.schedules:
            sys.stdout.write(f"{number} schedules, all invariants hold\n")
            sys.stdout.flush()


main()
