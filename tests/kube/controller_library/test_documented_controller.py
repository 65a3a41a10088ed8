"""The controller in docs/controller-library.md, word for word, against a real API server."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.local.state_dir import ROOT
from tests.support.builders import config_maps, note_resource
from tests.support.builders.note_resource import note_manifest
from tests.support.wait.eventually import eventually

Run = Callable[[str, str, asyncio.Event], Coroutine[Any, Any, None]]


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return `run` of the documented block, with the models of the tests."""
    models = ModuleType("models")
    vars(models).update(vars(config_maps) | vars(note_resource))
    monkeypatch.setitem(sys.modules, "models", models)
    text = (ROOT / "docs" / "controller-library.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, "docs/controller-library.md", "exec"), space)  # noqa: S102
    run: Run = space["run"]
    return run


@asynccontextmanager
async def controller(run: Run, plane: ControlPlane, namespace: str) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(run(str(plane.layout.admin_kubeconfig), namespace, stop))
        try:
            yield
        finally:
            stop.set()


async def test_the_documented_controller_keeps_a_config_map_for_every_note(
    documented: Run, control_plane: ControlPlane, notes_admin: AdminClient, namespace: str
) -> None:
    note = f"/apis/tests.local/v1/namespaces/{namespace}/notes/a"
    config_map = f"/api/v1/namespaces/{namespace}/configmaps/note-a"

    async def size() -> str:
        body: dict[str, Any] = await notes_admin.get(config_map)
        return str(body["data"]["size"])

    async def seen() -> int:
        return int((await notes_admin.get(note)).get("status", {}).get("seen", 0))

    await notes_admin.create(note.removesuffix("/a"), note_manifest(namespace, "a", 1))
    async with controller(documented, control_plane, namespace):
        await eventually(size, lambda text: text == "1", tolerate=ApiStatusError)
        await eventually(seen, lambda number: number == 1)
        await notes_admin.patch(note, {"spec": {"size": 2}})
        await eventually(seen, lambda number: number == 2)
        assert await size() == "2"
        await notes_admin.patch(config_map, {"data": {"size": "tampered"}})
        await eventually(size, lambda text: text == "2")
        await notes_admin.delete(config_map)
        await eventually(size, lambda text: text == "2", tolerate=ApiStatusError)
