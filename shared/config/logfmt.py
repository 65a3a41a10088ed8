"""One line of key=value pairs for each log record."""

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

_BARE: Final = re.compile(r"[!#-<>-\[\]-~]+")  # printable ASCII without space " = \
_NOT_PLAIN: Final = re.compile(r"[^ -~]")
_NOT_KEY: Final = re.compile(r"[^A-Za-z0-9_.-]")
_OWN: Final = frozenset({"ts", "level", "event", "logger"})
_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})

_context: ContextVar[Mapping[str, object]] = ContextVar("logfmt fields", default=_NOTHING)


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add `fields` to every line logged inside the block, by this task and those it starts."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def configure(level: str, stream: TextIO) -> None:
    """Make the root logger write logfmt to `stream`, from `level` up."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogfmtFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # No line tells them, and every record would look them up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class LogfmtFormatter(logging.Formatter):
    """Writes `ts= level= event= logger=`, then bound fields, then the record's own."""

    def format(self, record: logging.LogRecord) -> str:
        """Render `record` as exactly one line, whatever its values hold."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        own = {
            "ts": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        extra = {k: v for k, v in record.__dict__.items() if k not in _STANDARD}
        fields = {_key(k): v for k, v in {**_context.get(), **extra, **_failure(record)}.items()}
        return " ".join(f"{key}={_value(value)}" for key, value in {**own, **fields}.items())


def _failure(record: logging.LogRecord) -> dict[str, object]:
    if not record.exc_info or record.exc_info[1] is None:
        return {}
    error = record.exc_info[1]
    return {
        "error": f"{type(error).__name__}: {error}",
        "trace": "".join(traceback.format_exception(error)),
    }


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    key = _NOT_KEY.sub("_", name) or "_"
    return f"{key}_" if key in _OWN else key  # a field must not pass for the line's own


def _value(value: object) -> str:
    text = _text(value)
    return text if _BARE.fullmatch(text) else _quoted(text)


def _text(value: object) -> str:
    if type(value) is str:  # nearly all are; an enumeration says itself what it is
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _quoted(text: str) -> str:
    return _NOT_PLAIN.sub(_visible, json.dumps(text, ensure_ascii=False))


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    if character.isprintable():
        return character
    # json.dumps leaves DEL alone, and a terminal does not.
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
