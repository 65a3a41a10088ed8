"""The command line of a worker: empty in a pod, a local file during development."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serverless.worker.settings import MAX_CONCURRENCY
from shared.invocation.ids import is_function_name


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`local` is the file to serve; with `once` it runs that payload once, without NATS."""

    local: Path | None
    once: Path | None
    request_id: str
    nats_url: str
    concurrency: int


def parse(arguments: Sequence[str]) -> CommandLine:
    """Parse the command line; exit with status 2 for an invalid one."""
    parser = _parser()
    namespace = parser.parse_args(arguments)
    if namespace.once and not namespace.local:
        parser.error("--once requires --local")
    for path in (namespace.local, namespace.once):
        if path and not path.is_file():
            parser.error(f"{path} is not a file")
    return CommandLine(**vars(namespace))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m serverless.worker",
        description="Runs the invocations of one function: calls its framework for each.",
        epilog="Without --local all settings are environment variables; see docs/serverless.md. "
        "Exit status: 0 clean stop, 1 runtime failure, 2 bad configuration.",
        allow_abbrev=False,
    )
    parser.add_argument("--local", type=Path, metavar="FILE", help="run this file as framework")
    parser.add_argument(
        "--once", type=Path, metavar="PAYLOAD", help="run it once with this payload, without NATS"
    )
    parser.add_argument(
        "--request-id",
        type=_request_id,
        default="local",
        metavar="ID",
        help="the function; default: local",
    )
    parser.add_argument(
        "--nats-url",
        default="nats://127.0.0.1:4222",
        metavar="URL",
        help="the address of NATS; default: nats://127.0.0.1:4222",
    )
    parser.add_argument(
        "--concurrency",
        type=_concurrency,
        default=1,
        metavar="N",
        help="invocations at a time; default: 1",
    )
    return parser


def _request_id(text: str) -> str:
    if not is_function_name(text):
        problem = f"{text!r} is invalid: use at most 48 lower case letters, digits and -"
        raise argparse.ArgumentTypeError(problem)
    return text


def _concurrency(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_CONCURRENCY):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_CONCURRENCY}")
    return int(text)
