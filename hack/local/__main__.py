"""The command line behind `make up`, `down`, `status` and `logs`."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.local import clusters, down, logs, product_processes, status, up
from hack.local.interrupt import Interruption
from hack.local.state_dir import ROOT, locked

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    arguments = parser().parse_args()
    home: Path = arguments.home.absolute()
    interruption = Interruption()
    for number in SIGNALS:  # also where a shell in the background had them ignored
        signal.signal(number, interruption)
    try:
        if arguments.command == "logs":
            return logs.follow(home, arguments.names)
        if arguments.command == "run":
            product_processes.become(
                home, product_processes.NAMES[arguments.program], arguments.flags
            )
        if arguments.command == "status":
            return 0 if asyncio.run(status.report(home)) else 1
        if arguments.command == "down":
            return take_down(home)
        return bring_up(home, arguments, interruption)
    except ClusterError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack.local", description=__doc__)
    parser.add_argument("--home", type=Path, default=ROOT / ".local", help="folder of the state")
    commands = parser.add_subparsers(dest="command", required=True)
    raising = commands.add_parser("up", help="start what does not run")
    raising.add_argument("--cluster", choices=clusters.NAMES, help="default: local")
    raising.add_argument("--nodes", type=count, help="simulated nodes (4)")
    raising.add_argument("--gpus", type=count, help="GPUs of a node (8)")
    commands.add_parser("down", help="stop everything and remove the state")
    commands.add_parser("status", help="tell what runs")
    commands.add_parser("logs", help="follow the logs").add_argument("names", nargs="*")
    running = commands.add_parser("run", help="become one more process of the system")
    running.add_argument("program", choices=sorted(product_processes.NAMES))
    running.add_argument("flags", nargs=argparse.REMAINDER, help="passed on to the program")
    return parser


def count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("1 to 1000")
    return number


def take_down(home: Path) -> int:
    if not home.exists():
        print("nothing is set up here")
        return 0
    with locked(home):
        asyncio.run(down.take_down(home))
    return 0


def bring_up(home: Path, arguments: argparse.Namespace, interruption: Interruption) -> int:
    """All or nothing: an interrupted or failed start stops every process, and keeps the state."""
    with locked(home):
        wanted = up.choose(home, arguments.cluster, arguments.nodes, arguments.gpus)
        try:
            binaries = clusters.binaries_for(wanted.cluster)
            interruption.run(up.bring_up(home, wanted, binaries))
        except BaseException:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            stopped = asyncio.run(down.stop_processes(home))
            print(f"\nstopped again: {', '.join(stopped) or 'nothing had started'}", flush=True)
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
