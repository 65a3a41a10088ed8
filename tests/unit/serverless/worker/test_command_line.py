"""Tests of the command line of a worker outside a cluster, and of its error messages."""

from pathlib import Path

import pytest

from serverless.worker.command_line import CommandLine, parse

DEFAULT_URL = "nats://127.0.0.1:4222"


def test_a_file_alone_is_a_valid_command_line(tmp_path: Path) -> None:
    script = tmp_path / "my_function.py"
    script.touch()
    assert parse(["--local", str(script)]) == CommandLine(script, None, "local", DEFAULT_URL, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--once", __file__], "--once requires --local"),
        (["--local", "/nowhere.py"], "/nowhere.py is not a file"),
        (["--request-id", "My.Function"], "--request-id: 'My.Function' is invalid"),
        (["--request-id", ""], "--request-id: '' is invalid"),
        (["--concurrency", "0"], "--concurrency: '0' is not a number from 1 to 1000"),
        (["--concurrency", "-1"], "--concurrency"),
        (["--concurrency", "many"], "--concurrency: 'many' is not a number"),
    ],
)
def test_an_invalid_command_line_exits_with_a_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        parse(arguments)
    assert raised.value.code == 2
    assert message in capsys.readouterr().err
