"""Cutting a byte stream into lines of any length."""


class LineSplitter:
    """Collects chunks until a newline; a line of many chunks is joined once, not chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends."""
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts = [rest[-1]]
        return [line for line in lines if line]
