"""A container program that records its signals and requests.

`python -m tests.support.cluster.recording_container`. The environment holds its name (`NAME`), the
file to append to (`NOTEBOOK`), a folder to list (`FOLDER`) and, for a sidecar, the address of its
probes (`HTTP_ADDR`).
"""

import asyncio
import os
import signal
from pathlib import Path

from aiohttp import web


def record_line(text: str) -> None:
    """Append a line to the file that all containers of a test share."""
    with Path(os.environ["NOTEBOOK"]).open("a") as log:
        log.write(f"{os.environ['NAME']} {text}\n")


async def serve_probes(address: str) -> None:
    """Respond to every GET, and record all except readiness probes."""

    async def respond(request: web.Request) -> web.Response:
        if request.path != "/readyz":
            record_line(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_get("/{path:.*}", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    host, _, port = address.rpartition(":")
    await web.TCPSite(runner, host, int(port)).start()


async def main() -> None:
    """Run until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if "HTTP_ADDR" in os.environ:
        await serve_probes(os.environ["HTTP_ADDR"])
    files = ",".join(sorted(os.listdir(os.environ["FOLDER"])))
    record_line(f"sees {files} as {os.getpid()}")
    await stop.wait()
    record_line("stops")


if __name__ == "__main__":
    asyncio.run(main())
