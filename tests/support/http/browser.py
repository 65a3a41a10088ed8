"""A headless Chromium that is driven over its DevTools protocol, and can reach only loopback."""

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
    """The browser refused a command, or a script on the page failed."""


class BrowserPage:
    """One tab; it remembers what it asked for over the network and what it complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.requested_urls: list[str] = []
        self.errors: list[str] = []
        self._socket = socket
        self._command_ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def listen(self) -> None:
        """Take in what the browser says, until it hangs up."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._pending.pop(said["id"]).set_result(said)
            else:
                self._record_event(said["method"], said["params"])

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Tell the browser to do something; what it answers."""
        number = next(self._command_ids)
        answer = self._pending[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        said = await answer
        if "error" in said:
            raise PageError(f"{method}: {said['error']}")
        result: dict[str, Any] = said["result"]
        return result

    async def open(self, url: str) -> None:
        """Go to a page, with all that it asks for on record."""
        for domain in ("Network", "Runtime", "Log", "Page"):
            await self.command(f"{domain}.enable")
        await self.command("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression on the page."""
        said = await self.command("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in said:
            raise PageError(f"{script}: {said['exceptionDetails']}")
        return said["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        """The value of an expression once it has one that counts."""
        return await eventually(lambda: self.evaluate(script))

    async def screenshot(self) -> bytes:
        """What is to be seen, as a PNG."""
        said = await self.command("Page.captureScreenshot", format="png")
        return base64.b64decode(said["data"])

    def _record_event(self, event: str, parameters: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requested_urls.append(parameters["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif event == "Log.entryAdded" and parameters["entry"]["source"] != "network":
            self.errors.append(parameters["entry"]["text"])


@asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[BrowserPage]:
    """A blank page of a fresh browser, for the length of the block."""
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
                listening = group.create_task(page.listen())
                yield page
                listening.cancel()
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
            (each["webSocketDebuggerUrl"] for each in targets if each["type"] == "page"), ""
        )

    return await eventually(socket_url, tolerate=(OSError, IndexError, aiohttp.ClientError))
