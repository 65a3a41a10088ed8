"""`make bench`: run all benchmarks or the named ones, and print a table of ratios."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hack.local.state_dir import ROOT
from tests.bench.benchmarks import STANDALONE_BENCHMARKS, WIDGET_BENCHMARKS, BenchSizes, WidgetBench
from tests.bench.connection import open_connection
from tests.bench.control_plane import run_bare_control_plane
from tests.bench.library.contender import client_go_contender
from tests.bench.library.controller_library import our_contender
from tests.bench.library.widget_load import create_widgets, install_widget_crd
from tests.bench.table import Measure, text_table, write_json
from tests.runner.run_environment import single_process_run

RESULT_PATH = Path("bench.json")


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def run_benchmarks(names: Sequence[str], sizes: BenchSizes) -> list[Measure]:
    """Run the named benchmarks one after the other; those on widgets share one control plane."""
    rows: list[Measure] = []
    if on_widgets := [name for name in names if name in WIDGET_BENCHMARKS]:
        rows += await run_widget_benchmarks(on_widgets, sizes.widgets)
    for name in names:
        if name in STANDALONE_BENCHMARKS:
            print_line(f"measuring {name}")
            rows += await STANDALONE_BENCHMARKS[name](sizes)
    return rows


async def run_widget_benchmarks(names: Sequence[str], widgets: int) -> list[Measure]:
    """Start a control plane, fill it with widgets, and measure on it."""
    print_line("building the anchor, if it is not in the cache")
    anchor = client_go_contender()
    print_line("starting a control plane")
    rows: list[Measure] = []
    async with run_bare_control_plane() as plane, open_connection(plane) as connection:
        await install_widget_crd(connection)
        began = time.perf_counter()
        created = await create_widgets(connection, widgets)
        print_line(f"created {created:,} widgets in {time.perf_counter() - began:.0f} s")
        kubeconfig = plane.layout.admin_kubeconfig
        bench = WidgetBench(connection, kubeconfig, widgets, our_contender(), anchor)
        for name in names:
            print_line(f"measuring {name}")
            rows += await WIDGET_BENCHMARKS[name](bench)
    return rows


def main() -> None:
    known = (*WIDGET_BENCHMARKS, *STANDALONE_BENCHMARKS)
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(known)}; default: all")
    parser.add_argument("--widgets", type=int, default=BenchSizes.widgets)
    parser.add_argument("--units", type=int, default=BenchSizes.units)
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"unknown benchmarks: {', '.join(sorted(unknown))}")
    with single_process_run(ROOT):
        rows = asyncio.run(
            run_benchmarks(options.names or known, BenchSizes(options.widgets, options.units))
        )
    print_line("")
    print_line(text_table(rows))
    write_json(rows, RESULT_PATH)


main()
