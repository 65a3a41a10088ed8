"""The command of the accessor's container, run on a folder: it reads files and never writes."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from controller.gpustorage.resources.accessor import ACCESSOR_PORT, DATA_DIR, SERVER_COMMAND
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import responds_ok, wait_until
from tests.runner.ports import new_port


@pytest.fixture
async def files(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "weights.bin").write_bytes(b"\x00\x01 weights")
    (tmp_path / "secret").write_text("not a file of the storage")
    return folder


@pytest.fixture
async def address(files: Path, tmp_path: Path) -> AsyncIterator[str]:
    port = str(new_port())
    replacements = {"python": sys.executable, str(ACCESSOR_PORT): port, DATA_DIR: str(files)}
    arguments = (*(replacements.get(word, word) for word in SERVER_COMMAND), "--bind", HOST)
    process = Process(Command("accessor", arguments), tmp_path / "home")
    process.start()
    try:
        url = f"http://{HOST}:{port}"
        await wait_until(lambda: responds_ok(f"{url}/"), process)
        yield url
    finally:
        await process.stop()


async def test_the_accessor_lists_folders_and_serves_files(address: str) -> None:
    async with aiohttp.ClientSession(address) as session:
        async with session.get("/models/") as listing:
            assert "weights.bin" in await listing.text()
        async with session.get("/models/weights.bin") as file:
            assert await file.read() == b"\x00\x01 weights"


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
async def test_the_accessor_refuses_writes(address: str, files: Path, method: str) -> None:
    path = "/models/weights.bin"
    async with (
        aiohttp.ClientSession(address) as session,
        session.request(method, path, data=b"x") as response,
    ):
        assert response.status == 501
    assert (files / "models" / "weights.bin").read_bytes() == b"\x00\x01 weights"


@pytest.mark.parametrize("path", ["/../secret", "/%2e%2e/secret", "/models/..%2f..%2fsecret"])
async def test_the_accessor_serves_no_file_outside_the_storage(address: str, path: str) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{address}{path}", allow_redirects=False) as response,
    ):
        assert response.status == 404
