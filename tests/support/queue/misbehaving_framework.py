"""A framework that is healthy, and whose responses to invocations are malformed."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from shared.invocation.limits import MAX_PAYLOAD_BYTES

HEALTH_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
OVERSIZED_BYTES = MAX_PAYLOAD_BYTES + 1
MALFORMED_RESPONSES = {
    "garbage": b"good morning\r\n\r\nhow are you\r\n\r\n",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "silent": b"",
    "bad chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    "odd headers": b"HTTP/1.1 200 OK\r\nX-Odd: \xff\xfe\r\nX-Good: yes\r\n"
    b"Content-Type: \xff\r\nContent-Length: 2\r\n\r\nok",
    "huge": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % OVERSIZED_BYTES
    + bytes(OVERSIZED_BYTES),
}


@asynccontextmanager
async def serve_misbehaving_framework() -> AsyncIterator[Path]:
    """Respond as the attribute `response` says; yield the path of the socket."""
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        path = Path(folder) / "framework.sock"
        async with await asyncio.start_unix_server(_respond, path):
            yield path


async def _respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(
            HEALTH_RESPONSE if head.startswith("GET") else MALFORMED_RESPONSES[_attribute(head)]
        )
        await writer.drain()
    except OSError:
        return  # the worker has closed the connection
    finally:
        writer.close()


def _attribute(head: str) -> str:
    lines = dict(line.partition(": ")[::2] for line in head.splitlines()[1:])
    attributes: dict[str, str] = json.loads(lines["X-Attributes"])
    return attributes["response"]
