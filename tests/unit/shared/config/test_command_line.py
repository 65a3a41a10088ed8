"""Tests of the command line, which overrides the file."""

from pathlib import Path

import pytest

from apiserver.config import Config
from apiserver.main import PROGRAM
from shared.config.command_line import CommandLine, parse_command_line
from shared.config.loader import ConfigurationError, load_config


def test_only_flags_on_the_command_line_override_the_file() -> None:
    command_line = parse_command_line(
        PROGRAM, ["--config", "f.yaml", "--http-addr", ":1", "--kube-mode", "off"]
    )
    overrides = {"httpAddr": ":1", "kubeMode": "off"}
    assert command_line == CommandLine(Path("f.yaml"), overrides)


def test_an_empty_command_line_has_no_file_and_no_overrides() -> None:
    assert parse_command_line(PROGRAM, []) == CommandLine(None, {})


@pytest.mark.parametrize("argument", ["--nope", "--http", "stray"])
def test_an_unknown_or_shortened_flag_ends_with_status_2(argument: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_command_line(PROGRAM, [argument])


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--http-addr", "nowhere"),
        ("--kube-mode", "maybe"),
        ("--report-interval", "0s"),
        ("--log-level", "loud"),
    ],
)
def test_an_invalid_value_is_refused_with_the_name_of_its_flag(flag: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{flag}: got '{value}', expected "):
        load_config(Config, None, parse_command_line(PROGRAM, [flag, value]).overrides)


def test_help_shows_every_flag_with_its_accepted_values(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse_command_line(PROGRAM, ["--help"])
    text = " ".join(capsys.readouterr().out.split())
    for part in ("--kubeconfig", "--report-interval", "one of auto, off, required", "Default: 1m"):
        assert part in text
