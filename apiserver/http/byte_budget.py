"""How many bytes of payloads a process receives at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver.errors import ServiceUnavailableError


class InFlightBytes:
    """A bounded number of bytes, which requests reserve before they send them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    @contextmanager
    def reserved(self, size: int) -> Iterator[None]:
        """Reserve so many for the length of the block; one request always fits."""
        if self._taken and self._taken + size > self._most:
            raise ServiceUnavailableError(
                "other callers send large payloads at the moment; try again", retry_after=1
            )
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size
