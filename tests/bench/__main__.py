"""`make bench`: measure everything, or what is named, and print the table of ratios."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from tests.bench.anchor import client_go
from tests.bench.connection import connected
from tests.bench.load import fill, install
from tests.bench.measures import MEASURES, Bench
from tests.bench.ours import ours
from tests.bench.plane import running_plane
from tests.bench.table import Measure, text_table, write_json

WIDGETS = 20_000
RESULT = Path("bench.json")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def run(names: list[str], widgets: int) -> list[Measure]:
    """Start a control plane, fill it, and run each named benchmark after the other."""
    say("building the anchor, if it is not in the cache")
    anchor = client_go()
    say("starting a control plane")
    async with running_plane() as plane, connected(plane) as connection:
        await install(connection)
        began = time.perf_counter()
        made = await fill(connection, widgets)
        say(f"made {made:,} widgets in {time.perf_counter() - began:.0f} s")
        kubeconfig = plane.layout.admin_kubeconfig
        bench = Bench(connection, kubeconfig, widgets, ours(), anchor)
        rows: list[Measure] = []
        for name in names:
            say(f"measuring {name}")
            rows += await MEASURES[name](bench)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MEASURES)}; all if none")
    parser.add_argument("--widgets", type=int, default=WIDGETS)
    told = parser.parse_args()
    if unknown := set(told.names) - set(MEASURES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    rows = asyncio.run(run(told.names or list(MEASURES), told.widgets))
    say("")
    say(text_table(rows))
    write_json(rows, RESULT)


main()
