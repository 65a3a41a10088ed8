"""The command line behind `make up`, `down`, `status` and `logs`."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.local import clusters, down, logs, product_processes, status, up
from hack.local.interrupt import InterruptHandler
from hack.local.state_dir import ROOT, lock_state_dir

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    arguments = build_parser().parse_args()
    state_dir: Path = arguments.home.absolute()
    interruption = InterruptHandler()
    for number in STOP_SIGNALS:  # a shell ignores some of these for background jobs
        signal.signal(number, interruption)
    try:
        if arguments.command == "logs":
            return logs.follow_logs(state_dir, arguments.names)
        if arguments.command == "run":
            product_processes.exec_program(
                state_dir, product_processes.PROGRAMS_BY_ALIAS[arguments.program], arguments.flags
            )
        if arguments.command == "status":
            return 0 if asyncio.run(status.print_status(state_dir)) else 1
        if arguments.command == "down":
            return take_down(state_dir)
        return bring_up(state_dir, arguments, interruption)
    except ClusterError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack.local", description=__doc__)
    parser.add_argument("--home", type=Path, default=ROOT / ".local", help="folder of the state")
    commands = parser.add_subparsers(dest="command", required=True)
    up_parser = commands.add_parser("up", help="start the processes that do not run")
    up_parser.add_argument("--cluster", choices=clusters.CLUSTER_KINDS, help="default: local")
    up_parser.add_argument("--nodes", type=positive_count, help="simulated nodes (4)")
    up_parser.add_argument("--gpus", type=positive_count, help="GPUs of a node (8)")
    commands.add_parser("down", help="stop all processes and remove the state")
    commands.add_parser("status", help="show the processes and their readiness")
    commands.add_parser("logs", help="follow the logs").add_argument("names", nargs="*")
    run_parser = commands.add_parser(
        "run", help="run one more process of the system in the foreground"
    )
    run_parser.add_argument("program", choices=sorted(product_processes.PROGRAMS_BY_ALIAS))
    run_parser.add_argument("flags", nargs=argparse.REMAINDER, help="flags of the program")
    return parser


def positive_count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("must be from 1 to 1000")
    return number


def take_down(state_dir: Path) -> int:
    if not state_dir.exists():
        print("no local system is set up here")
        return 0
    with lock_state_dir(state_dir):
        asyncio.run(down.take_down(state_dir))
    return 0


def bring_up(state_dir: Path, arguments: argparse.Namespace, interrupt: InterruptHandler) -> int:
    """Start all processes.

    After an interrupt or a failure, stop the started ones and keep the state.
    """
    with lock_state_dir(state_dir):
        chosen = up.choose_settings(state_dir, arguments.cluster, arguments.nodes, arguments.gpus)
        try:
            binaries = clusters.binaries_for(chosen.cluster)
            interrupt.run(up.bring_up(state_dir, chosen, binaries))
        except BaseException:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            stopped = asyncio.run(down.stop_processes(state_dir))
            print(f"\nstopped: {', '.join(stopped) or 'no process had started'}", flush=True)
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
