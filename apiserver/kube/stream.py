"""An answer that goes on for as long as the server has something to tell."""

import aiohttp

from apiserver.kube import transport_errors


class LineStream:
    """The lines of one response, as they arrive; whoever opened it closes it."""

    def __init__(self, server: str, response: aiohttp.ClientResponse) -> None:
        self._server = server
        self._response = response
        self._partial_line: list[bytes] = []

    async def read_lines(self) -> list[bytes] | None:
        """What has arrived, perhaps no whole line; None when the server has ended the stream."""
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise transport_errors.unreachable_error(self._server, error) from error
        return self._split(chunk) if chunk else None

    def close(self) -> None:
        """Drop the connection: it can carry nothing else any more."""
        self._response.close()

    def _split(self, chunk: bytes) -> list[bytes]:
        first, *others = chunk.split(b"\n")
        self._partial_line.append(first)
        if not others:
            return []
        whole, self._partial_line = b"".join(self._partial_line), [others.pop()]
        return [line for line in (whole, *others) if line]
