"""How many bytes of payloads a process receives at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver.errors import ServiceUnavailableError


class ByteBudget:
    """A bounded number of bytes, which requests reserve before they send them."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._reserved_bytes = 0

    @contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Reserve so many for the length of the block; one request always fits."""
        if self._reserved_bytes and self._reserved_bytes + size > self._max_bytes:
            raise ServiceUnavailableError(
                "other callers send large payloads at the moment; try again", retry_after=1
            )
        self._reserved_bytes += size
        try:
            yield
        finally:
            self._reserved_bytes -= size
