"""`make bench`: measure everything, or what is named, and print the table of ratios."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hack.local.state_dir import ROOT
from tests.bench.benchmarks import ALONE, ON_WIDGETS, Bench, Sizes
from tests.bench.connection import connected
from tests.bench.control_plane import running_plane
from tests.bench.library.client_go import client_go
from tests.bench.library.controller_library import ours
from tests.bench.library.widget_load import fill, install
from tests.bench.table import Measure, text_table, write_json
from tests.runner.run_environment import own_run

RESULT = Path("bench.json")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def run(names: Sequence[str], sizes: Sizes) -> list[Measure]:
    """Run each named benchmark after the other; those on widgets share one control plane."""
    rows: list[Measure] = []
    if on_widgets := [name for name in names if name in ON_WIDGETS]:
        rows += await run_on_widgets(on_widgets, sizes.widgets)
    for name in names:
        if name in ALONE:
            say(f"measuring {name}")
            rows += await ALONE[name](sizes)
    return rows


async def run_on_widgets(names: Sequence[str], widgets: int) -> list[Measure]:
    """Start a control plane, fill it, and measure on it."""
    say("building the anchor, if it is not in the cache")
    anchor = client_go()
    say("starting a control plane")
    rows: list[Measure] = []
    async with running_plane() as plane, connected(plane) as connection:
        await install(connection)
        began = time.perf_counter()
        made = await fill(connection, widgets)
        say(f"made {made:,} widgets in {time.perf_counter() - began:.0f} s")
        kubeconfig = plane.layout.admin_kubeconfig
        bench = Bench(connection, kubeconfig, widgets, ours(), anchor)
        for name in names:
            say(f"measuring {name}")
            rows += await ON_WIDGETS[name](bench)
    return rows


def main() -> None:
    known = (*ON_WIDGETS, *ALONE)
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)}; all if none")
    parser.add_argument("--widgets", type=int, default=Sizes.widgets)
    parser.add_argument("--units", type=int, default=Sizes.units)
    told = parser.parse_args()
    if unknown := set(told.names) - set(known):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    with own_run(ROOT):
        rows = asyncio.run(run(told.names or known, Sizes(told.widgets, told.units)))
    say("")
    say(text_table(rows))
    write_json(rows, RESULT)


main()
