"""The command line of a program: a configuration file and flags that override its keys."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shared.config.loader import config_keys, flag_name


@dataclass(frozen=True, slots=True)
class ProgramDescription:
    """The name of a program, its description, and the keys that have a flag."""

    name: str
    description: str
    config_type: type[msgspec.Struct]
    flag_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A configuration file and the keys that the command line overrides."""

    config_path: Path | None
    overrides: dict[str, str]


def parse_command_line(program: ProgramDescription, arguments: Sequence[str]) -> CommandLine:
    """Parse the command line; an error in the arguments ends the process with status 2."""
    values = vars(_parser(program).parse_args(arguments))
    config_path = values.pop("config")
    overrides = {key: text for key, text in values.items() if text is not None}
    return CommandLine(config_path, overrides)


def _parser(program: ProgramDescription) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {program.name}",
        description=program.description,
        epilog="Flags override the keys of the configuration file. "
        "Exit status: 0 clean stop, 1 runtime failure, 2 bad configuration.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="YAML file; see docs/configuration.md"
    )
    for key in config_keys(program.config_type):
        if key.name in program.flag_keys:
            help_text = f"{key.description} Accepts {key.accepted}. Default: {key.default}"
            parser.add_argument(
                flag_name(key.name),
                dest=key.name,
                metavar="VALUE",
                help=help_text.replace("%", "%%"),
            )
    return parser
