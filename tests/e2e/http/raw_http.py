"""HTTP as raw bytes, for requests that no client library would send."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

JSON_HEADER = "Content-Type: application/json"
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class RawResponse:
    """A response whose body was read completely."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def request_id(self) -> str:
        return self.headers["X-Request-ID"]


@dataclass(frozen=True)
class RawConnection:
    """A client that sends bytes to one server."""

    port: int

    def send(self, raw: bytes, count: int = 1) -> list[RawResponse]:
        """Send bytes on a new connection, and read `count` responses."""
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS
        ) as connection:
            connection.sendall(raw)
            with connection.makefile("rb") as stream:
                return [_read_response(_SharedStreamSocket(stream)) for _ in range(count)]

    def request(self, method: str, path: str, *headers: str, body: bytes = b"") -> RawResponse:
        """Send one request with these header lines; the path is sent unchanged."""
        lines = [f"{method} {path} HTTP/1.1", "Host: a", *headers, f"Content-Length: {len(body)}"]
        return self.send("\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body)[0]

    def send_and_read_all(self, raw: bytes) -> bytes:
        """Send bytes, and return all bytes that arrive until the server closes the connection."""
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS
        ) as connection:
            connection.sendall(raw)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received


class _SharedStreamSocket:
    """A socket for http.client whose stream outlives one response."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def makefile(self, _: str) -> Any:
        return _UnclosedStream(self._stream)


class _UnclosedStream:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return (lambda: None) if name == "close" else getattr(self._stream, name)


def _read_response(source: Any) -> RawResponse:
    response = http.client.HTTPResponse(source)
    response.begin()
    return RawResponse(response.status, dict(response.getheaders()), response.read())
