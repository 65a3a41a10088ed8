"""The limit of payload bytes that a process receives at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver.errors import ServiceUnavailableError


class ByteBudget:
    """A limited number of bytes, reserved by a request before it reads its body."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._reserved_bytes = 0

    @contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Reserve bytes for the length of the block; a single request is always admitted.

        Raises ServiceUnavailableError if the budget is used up.
        """
        if self._reserved_bytes and self._reserved_bytes + size > self._max_bytes:
            raise ServiceUnavailableError(
                "the API receives too many large payloads at the moment; retry", retry_after=1
            )
        self._reserved_bytes += size
        try:
            yield
        finally:
            self._reserved_bytes -= size
