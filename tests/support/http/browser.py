"""A headless Chromium, driven over its DevTools protocol, that reaches only this machine."""

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.wait.eventually import eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SKIP_REASON = "needs Chromium; on Debian: apt-get install chromium"
CHROMIUM_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--remote-debugging-port=0", "--window-size=1280,2000"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class PageError(Exception):
    """The browser rejected a command, or a script on the page failed."""


class BrowserPage:
    """One tab, with the URLs that it has requested and the errors that it has logged."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.requested_urls: list[str] = []
        self.errors: list[str] = []
        self._socket = socket
        self._command_ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def listen(self) -> None:
        """Receive responses and events until the browser closes the connection."""
        async for frame in self._socket:
            message = json.loads(frame.data)
            if "id" in message:
                self._pending.pop(message["id"]).set_result(message)
            else:
                self._record_event(message["method"], message["params"])

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result; raises PageError when the browser rejects it."""
        number = next(self._command_ids)
        reply = self._pending[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        message = await reply
        if "error" in message:
            raise PageError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    async def open(self, url: str) -> None:
        """Open a page, and record its requests."""
        for domain in ("Network", "Runtime", "Log", "Page"):
            await self.command(f"{domain}.enable")
        await self.command("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; raises PageError when it throws."""
        result = await self.command("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise PageError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        """Wait until a JavaScript expression is true, and return its value."""
        return await eventually(lambda: self.evaluate(script))

    async def screenshot(self) -> bytes:
        """Return a picture of the window as PNG."""
        result = await self.command("Page.captureScreenshot", format="png")
        return base64.b64decode(result["data"])

    def _record_event(self, event: str, parameters: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requested_urls.append(parameters["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif event == "Log.entryAdded" and parameters["entry"]["source"] != "network":
            self.errors.append(parameters["entry"]["text"])


@asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[BrowserPage]:
    """Open an empty page in a new browser, for the length of the block."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        *(CHROMIUM, *CHROMIUM_FLAGS, f"--user-data-dir={folder}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
            url = await _first_page_url(session, folder / "DevToolsActivePort")
            async with session.ws_connect(url, max_msg_size=0) as socket:
                page = BrowserPage(socket)
                listener = group.create_task(page.listen())
                yield page
                listener.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _first_page_url(session: aiohttp.ClientSession, port_file: Path) -> str:
    async def socket_url() -> str:
        port = (await asyncio.to_thread(port_file.read_text)).split()[0]
        async with session.get(f"http://127.0.0.1:{port}/json/list") as response:
            targets = await response.json()
        return next(
            (target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page"), ""
        )

    return await eventually(socket_url, tolerate=(OSError, IndexError, aiohttp.ClientError))
