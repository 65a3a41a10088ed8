"""`python -m hack.podrunner --kubeconfig F --home D`: runs pods until SIGTERM or SIGINT."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from hack.podrunner.runner import run_pods
from shared.config import logfmt


def main() -> int:
    parser = argparse.ArgumentParser(prog="hack.podrunner", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True, help="folder of the local system")
    arguments = parser.parse_args()
    logfmt.configure_logging("info", sys.stderr)
    asyncio.run(run_until_signal(arguments.kubeconfig, arguments.home))
    return 0


async def run_until_signal(kubeconfig: Path, state_dir: Path) -> None:
    """Run pods until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with run_pods(kubeconfig, state_dir):
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
