"""A TCP proxy in front of a real server that can cut, stall, delay and half-close connections."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.cluster.isolated_installation import IsolatedInstallation

CHUNK_BYTES = 65536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(eq=False)
class ProxiedConnection:
    """A client's connection, and the proxy's connection to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    half_closed: bool = False
    chunks: int = 0


class TCPProxy:
    """A proxy of one server; faults apply to existing and new connections.

    `stall` keeps connections open and forwards nothing, as a half-open connection does;
    `mute_server` forwards data of clients and delays data of the server;
    `refuse` accepts no new connections; `cut` resets the existing ones;
    `delay` delays every chunk;
    `cut_after` resets each connection after that number of chunks from the server.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._connections: set[ProxiedConnection] = set()
        self._may_forward = asyncio.Event()
        self._may_forward.set()
        self._may_respond = asyncio.Event()
        self._may_respond.set()
        self._delay = 0.0
        self._is_refusing = False
        self._max_chunks: int | None = None
        self.accepted_count = 0
        self._server: asyncio.Server | None = None
        self._idle = asyncio.Event()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def stall(self) -> None:
        self._may_forward.clear()

    def mute_server(self) -> None:
        self._may_respond.clear()

    def delay(self, seconds: float) -> None:
        self._delay = seconds

    def cut_after(self, chunks: int) -> None:
        self._max_chunks = chunks
        for connection in self._connections:
            connection.chunks = 0

    def refuse(self) -> None:
        self._is_refusing = True

    def clear_faults(self) -> None:
        """End all faults; closed connections stay closed."""
        self._may_forward.set()
        self._may_respond.set()
        self._delay = 0.0
        self._is_refusing = False
        self._max_chunks = None

    def cut(self) -> None:
        """Reset every connection, on both sides, as a crashed host does."""
        for connection in list(self._connections):
            reset_connection(connection.client)
            reset_connection(connection.server)

    def half_close(self) -> None:
        """Send every client the end of the stream, and still accept its data."""
        for connection in self._connections:
            connection.half_closed = True
            connection.client.write_eof()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["TCPProxy"]:
        """Accept connections for the length of the block."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._server.close()
            self.clear_faults()
            self.refuse()  # also connections that are being accepted now
            self.cut()
            if self._connections:
                await self._idle.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            reset_connection(writer)
            return
        if self._is_refusing:  # checked last: `cut` does not know this connection yet
            reset_connection(writer)
            reset_connection(server_writer)
            return
        self.accepted_count += 1
        connection = ProxiedConnection(writer, server_writer)
        self._connections.add(connection)
        self._idle.clear()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(connection, reader, connection.server))
                group.create_task(self._forward(connection, server_reader, connection.client))
        finally:
            reset_connection(connection.client)
            reset_connection(connection.server)
            self._connections.discard(connection)
            if not self._connections:
                self._idle.set()

    async def _forward(
        self,
        connection: ProxiedConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            while chunk := await reader.read(CHUNK_BYTES):
                await asyncio.sleep(self._delay)
                await self._may_forward.wait()
                if writer is connection.client:
                    await self._may_respond.wait()
                    if connection.half_closed:
                        continue
                writer.write(chunk)
                await writer.drain()
                if writer is connection.client:
                    self._count_chunk(connection)
            if not writer.is_closing():
                writer.write_eof()
        except OSError:
            return

    def _count_chunk(self, connection: ProxiedConnection) -> None:
        connection.chunks += 1
        if self._max_chunks is not None and connection.chunks >= self._max_chunks:
            reset_connection(connection.client)
            reset_connection(connection.server)


def reset_connection(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST instead of FIN, so that neither side waits for the other."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    writer.transport.abort()


def kubeconfig_through_proxy(
    proxy: TCPProxy, installation: IsolatedInstallation, folder: Path
) -> Path:
    """Write the API's kubeconfig with the proxy in place of the server, and return its path."""
    config = yaml.safe_load(installation.api_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
