"""HTTP as bytes, for what no client library would send."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

JSON = "Content-Type: application/json"
PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """A response that was read to its end."""

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
class Wire:
    """A way to send bytes to one server."""

    port: int

    def send(self, raw: bytes, answers: int = 1) -> list[Answer]:
        """Send bytes on a connection of their own, and read so many responses."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(raw)
            with connection.makefile("rb") as stream:
                return [_read(_Replayed(stream)) for _ in range(answers)]

    def request(self, method: str, path: str, *headers: str, body: bytes = b"") -> Answer:
        """One request with these header lines; its path goes out as it is."""
        lines = [f"{method} {path} HTTP/1.1", "Host: a", *headers, f"Content-Length: {len(body)}"]
        return self.send("\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body)[0]

    def rest(self, raw: bytes) -> bytes:
        """Send bytes, and all that comes until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(raw)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received


class _Replayed:
    """A socket for http.client whose stream outlives one response."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def makefile(self, _: str) -> Any:
        return _Unclosed(self._stream)


class _Unclosed:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return (lambda: None) if name == "close" else getattr(self._stream, name)


def _read(source: Any) -> Answer:
    response = http.client.HTTPResponse(source)
    response.begin()
    return Answer(response.status, dict(response.getheaders()), response.read())
