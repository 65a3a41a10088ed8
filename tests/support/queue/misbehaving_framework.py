"""A framework that answers health like any other, and invocations as no framework should."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from shared.invocation.limits import MAX_PAYLOAD_BYTES

HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HUGE = MAX_PAYLOAD_BYTES + 1
ANSWERS = {
    "garbage": b"good morning\r\n\r\nhow are you\r\n\r\n",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "silent": b"",
    "bad chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    "odd headers": b"HTTP/1.1 200 OK\r\nX-Odd: \xff\xfe\r\nX-Good: yes\r\n"
    b"Content-Type: \xff\r\nContent-Length: 2\r\n\r\nok",
    "huge": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % HUGE + bytes(HUGE),
}


@asynccontextmanager
async def rude() -> AsyncIterator[Path]:
    """Answers as the attribute `rude` says; the socket for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        path = Path(folder) / "framework.sock"
        async with await asyncio.start_unix_server(_answer, path):
            yield path


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(HEALTHY if head.startswith("GET") else ANSWERS[_attribute(head)])
        await writer.drain()
    except OSError:
        return  # the worker has heard enough
    finally:
        writer.close()


def _attribute(head: str) -> str:
    lines = dict(line.partition(": ")[::2] for line in head.splitlines()[1:])
    told: dict[str, str] = json.loads(lines["X-Attributes"])
    return told["rude"]
