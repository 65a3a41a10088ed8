"""The command line of the API."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.config import Config
from shared.configuration import flag, keys

_OVERRIDABLE: Final = ("httpAddr", "kubeMode", "kubeconfig", "reportInterval", "logLevel")


@dataclass(frozen=True, slots=True)
class Flags:
    """A configuration file and the keys that the command line overrides."""

    config: Path | None
    overrides: dict[str, str]


def parse(arguments: Sequence[str]) -> Flags:
    """Read the command line; a mistake in it ends the process with status 2."""
    given = vars(_parser().parse_args(arguments))
    config = given.pop("config")
    return Flags(config, {key: text for key, text in given.items() if text is not None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apiserver",
        description="Serves the REST API of GPU Runtime.",
        epilog="Flags override the keys of the configuration file. "
        "Exit status: 0 clean stop, 1 runtime failure, 2 bad configuration.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="YAML file; see docs/configuration.md"
    )
    for key in keys(Config):
        if key.name in _OVERRIDABLE:
            words = f"{key.description} Accepts {key.accepted}. Default: {key.default}"
            parser.add_argument(
                flag(key.name), dest=key.name, metavar="VALUE", help=words.replace("%", "%%")
            )
    return parser
