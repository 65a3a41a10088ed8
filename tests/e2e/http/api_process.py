"""A real `python -m apiserver` process, started as an operator would start it."""

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.http.raw_http import RawResponse

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class APIProcess:
    """A process that listens; `wait_logged` reads its log up to the event that it waits for."""

    process: subprocess.Popen[str]
    port: int

    def request(self, method: str, path: str, **headers: str) -> RawResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=names)
            return _read_response(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> RawResponse:
        return self.request("GET", path, **headers)

    def send(self, raw: bytes) -> RawResponse:
        """Send bytes that are not HTTP and read the HTTP response."""
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS
        ) as connection:
            connection.sendall(raw)
            response = http.client.HTTPResponse(connection)
            response.begin()
            return _read_response(response)

    def wait_logged(self, event: str) -> str:
        """Read the log up to the next line of that event."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if f"event={event} " in line:
                return line
        raise AssertionError(f"ended with {self.process.wait()} before it logged {event}")

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> str:
        """Send the stop signal, and return the rest of the log."""
        self.process.send_signal(signal_number)
        _, log = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return log


@contextmanager
def run_api_process(*flags: str) -> Iterator[APIProcess]:
    """Run the API on a free port for the length of the block."""
    arguments = ("--http-addr", "127.0.0.1:0", *flags)
    with subprocess.Popen(_command(*arguments), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield APIProcess(process, _listening_port(process))
        finally:
            process.kill()


def run_to_end(*flags: str) -> subprocess.CompletedProcess[str]:
    """Run an API that is expected to exit by itself."""
    return subprocess.run(
        _command(*flags), capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def _command(*flags: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "apiserver", *flags]


def _listening_port(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if match := re.search(r"event=listening .*addr=\S+:(\d+)", line):
            return int(match[1])
    raise AssertionError(f"ended with {process.wait()} before it listened")


def _read_response(response: http.client.HTTPResponse) -> RawResponse:
    return RawResponse(response.status, dict(response.getheaders()), response.read())
