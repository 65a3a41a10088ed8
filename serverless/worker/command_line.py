"""The command line of a worker: nothing in a pod, a file of yours on a desk."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serverless.worker.settings import MAX_CONCURRENCY
from shared.invocation.ids import is_function_name


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`local` is the file to serve; with `once` it gets that payload, and no queue is needed."""

    local: Path | None
    once: Path | None
    request_id: str
    nats_url: str
    concurrency: int


def parse(arguments: Sequence[str]) -> CommandLine:
    """Read the command line; a mistake in it ends the process with status 2."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.once and not given.local:
        parser.error("--once needs --local")
    for path in (given.local, given.once):
        if path and not path.is_file():
            parser.error(f"{path} is not a file")
    return CommandLine(**vars(given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m serverless.worker",
        description="Runs the invocations of one function with the framework beside it.",
        epilog="Without --local everything is read from the environment; see docs/serverless.md. "
        "Exit status: 0 clean stop, 1 runtime failure, 2 bad configuration.",
        allow_abbrev=False,
    )
    parser.add_argument("--local", type=Path, metavar="FILE", help="serve this file on a desk")
    parser.add_argument(
        "--once", type=Path, metavar="PAYLOAD", help="run it once with this payload, and no queue"
    )
    parser.add_argument(
        "--request-id", type=_request_id, default="local", metavar="ID", help="default: local"
    )
    parser.add_argument(
        "--nats-url",
        default="nats://127.0.0.1:4222",
        metavar="URL",
        help="where the invocations are; default: nats://127.0.0.1:4222",
    )
    parser.add_argument(
        "--concurrency", type=_concurrency, default=1, metavar="N", help="default: 1"
    )
    return parser


def _request_id(text: str) -> str:
    if not is_function_name(text):
        problem = f"{text!r} is not one: lower case letters, digits and -, at most 48"
        raise argparse.ArgumentTypeError(problem)
    return text


def _concurrency(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_CONCURRENCY):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_CONCURRENCY}")
    return int(text)
