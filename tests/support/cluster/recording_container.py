"""`python -m tests.support.cluster.recording_container`: a container that notes what happens to it.

Its name, its notebook and, for a sidecar, the address of its probes come from the environment.
"""

import asyncio
import os
import signal
from pathlib import Path

from aiohttp import web


def record_line(text: str) -> None:
    """Add a line to the notebook that all containers of a test share."""
    with Path(os.environ["NOTEBOOK"]).open("a") as notebook:
        notebook.write(f"{os.environ['NAME']} {text}\n")


async def serve_probes(address: str) -> None:
    """Answer every GET, and note those that are no probes."""

    async def answer(request: web.Request) -> web.Response:
        if request.path != "/readyz":
            record_line(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    host, _, port = address.rpartition(":")
    await web.TCPSite(runner, host, int(port)).start()


async def main() -> None:
    """Live until told to stop."""
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
