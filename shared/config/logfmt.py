"""A log formatter that writes one line of key=value pairs for each log record."""

import json
import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TextIO

_BARE_VALUE: Final = re.compile(r"[!#-<>-\[\]-~]+")  # printable ASCII without space " = \
_NON_ASCII: Final = re.compile(r"[^ -~]")
_INVALID_KEY_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_.-]")
_RESERVED_KEYS: Final = frozenset({"ts", "level", "event", "logger"})
_STANDARD_ATTRIBUTES: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
_NO_FIELDS: Final[Mapping[str, object]] = MappingProxyType({})

_context: ContextVar[Mapping[str, object]] = ContextVar("logfmt fields", default=_NO_FIELDS)


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Add `fields` to every line that this task and the tasks it starts log inside the block."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def configure_logging(level: str, stream: TextIO) -> None:
    """Make the root logger write logfmt to `stream`, from `level` up."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogfmtFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # No log line shows these attributes, and collecting them would cost time for every log record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class LogfmtFormatter(logging.Formatter):
    """A formatter of `ts= level= event= logger=`, then bound fields, then the log record's own."""

    def format(self, record: logging.LogRecord) -> str:
        """Render `record` as exactly one line, even if its values contain line breaks."""
        timestamp = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        standard = {
            "ts": timestamp.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        extra = {k: v for k, v in record.__dict__.items() if k not in _STANDARD_ATTRIBUTES}
        fields = {
            _format_key(k): v
            for k, v in {**_context.get(), **extra, **_exception_fields(record)}.items()
        }
        pairs = {**standard, **fields}.items()
        return " ".join(f"{key}={_format_value(value)}" for key, value in pairs)


def _exception_fields(record: logging.LogRecord) -> dict[str, object]:
    if not record.exc_info or record.exc_info[1] is None:
        return {}
    error = record.exc_info[1]
    return {
        "error": f"{type(error).__name__}: {error}",
        "trace": "".join(traceback.format_exception(error)),
    }


@lru_cache(maxsize=1024)
def _format_key(name: str) -> str:
    key = _INVALID_KEY_CHARACTER.sub("_", name) or "_"
    return f"{key}_" if key in _RESERVED_KEYS else key  # must differ from the standard keys


def _format_value(value: object) -> str:
    text = _to_text(value)
    return text if _BARE_VALUE.fullmatch(text) else _quote(text)


def _to_text(value: object) -> str:
    if type(value) is str:  # nearly all values are strings; `str` of an enumeration is its value
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _quote(text: str) -> str:
    return _NON_ASCII.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character.isprintable():
        return character
    # json.dumps does not escape DEL, and a terminal interprets it.
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
