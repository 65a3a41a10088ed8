"""Tests of logfmt: a log entry is one line of key=value pairs, for any content."""

import io
import json
import logging
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.config.logfmt import LogfmtFormatter, configure_logging, log_context

PAIR = re.compile(r'([A-Za-z0-9_.-]+)=("(?:[^"\\]|\\.)*"|[^ "=\\]+)(?: |$)')


def line(message: str = "something_happened", /, **extra: object) -> str:
    record = logging.makeLogRecord(
        {"name": "apiserver", "levelname": "INFO", "msg": message, "created": 1.5, **extra}
    )
    return LogfmtFormatter().format(record)


def parsed(text: str) -> dict[str, str]:
    matches = list(PAIR.finditer(text))
    assert "".join(match.group(0) for match in matches) == text
    return {
        key: json.loads(v) if v.startswith('"') else v for key, v in (m.groups() for m in matches)
    }


def test_a_line_starts_with_time_level_event_and_logger() -> None:
    expected = "ts=1970-01-01T00:00:01.500Z level=info event=something_happened logger=apiserver"
    assert line() == expected


def test_extra_fields_follow() -> None:
    assert line(route="/healthz", status=200).endswith(" route=/healthz status=200")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (None, "None"),
        (1.5, "1.5"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "hi"', r'"say \"hi\""'),
        ("back\\slash", r'"back\\slash"'),
        ("line\nbreak", r'"line\nbreak"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("\x7f", r'"\u007f"'),
        ("caf\u00e9", '"caf\u00e9"'),
        ("\u202eevil", r'"\u202eevil"'),
        (["A100", "H100"], "A100,H100"),
    ],
)
def test_a_value_is_quoted_only_if_necessary(value: object, written: str) -> None:
    assert line(field=value).endswith(f" field={written}")


@given(st.text(), st.text())
def test_any_text_is_logged_as_one_line_that_can_be_parsed(message: str, value: str) -> None:
    text = line(message, field=value)
    assert len(text.splitlines()) == 1
    assert text.isprintable()
    fields = parsed(text)
    assert (fields["event"], fields["field"]) == (message, value)


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text())
def test_a_key_cannot_break_the_line_or_replace_the_event(key: str, value: str) -> None:
    text = LogfmtFormatter().format(logging.makeLogRecord({"msg": "e", f"x{key}": value}))
    assert len(text.splitlines()) == 1
    assert parsed(text)["event"] == "e"


def test_a_field_with_a_standard_name_is_renamed() -> None:
    assert line(event="forged").endswith(" event_=forged")


def test_context_fields_are_only_in_the_lines_of_the_block() -> None:
    with log_context(requestID="r1"), log_context(reconcileID="c1"):
        inside = line()
    assert inside.endswith(" requestID=r1 reconcileID=c1")
    assert "requestID" not in line()


def test_an_exception_is_an_error_and_a_trace_on_the_same_line() -> None:
    try:
        raise RuntimeError("broken\npipe")  # noqa: TRY301
    except RuntimeError:
        text = line(exc_info=sys.exc_info())
    fields = parsed(text)
    assert fields["error"] == "RuntimeError: broken\npipe"
    assert "test_logfmt.py" in fields["trace"]


def test_configured_logging_writes_lines_of_the_level_or_higher_to_the_stream() -> None:
    root, stream = logging.getLogger(), io.StringIO()
    before = root.level, root.handlers[:]
    root.handlers.clear()  # pytest's own handlers are restored below; force=True would close them
    try:
        configure_logging("warning", stream)
        logging.getLogger("a").info("quiet")
        logging.getLogger("a").warning("loud", extra={"count": 1})
    finally:
        root.setLevel(before[0])
        root.handlers[:] = before[1]
    assert re.fullmatch(r"ts=\S+ level=warning event=loud logger=a count=1\n", stream.getvalue())
