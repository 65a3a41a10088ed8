"""The content of a running informer, compared with the server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.client.client import Client
from controller.runtime.client.kind import key_of
from controller.runtime.errors import KubeError
from controller.runtime.events.recorder import EventRecorder
from hack.cluster.admin_client import AdminClient
from tests.support.builders.config_maps import CONFIG_MAPS, ConfigMap, config_map_manifest
from tests.support.wait.eventually import eventually


class NoticeReplica:
    """A handler that rebuilds the state from notices, and asserts that no notice was lost."""

    def __init__(self) -> None:
        self.objects: dict[str, ConfigMap] = {}
        self.notices: list[ChangeNotification[ConfigMap]] = []

    def __call__(self, notice: ChangeNotification[ConfigMap]) -> None:
        self.notices.append(notice)
        changed = notice.new or notice.old
        assert changed is not None
        name = changed.metadata.name
        before = self.objects.get(name)
        if notice.old is None:
            assert before is None, f"{name} was added twice"
        elif notice.new is not None:
            assert before is not None, f"{name} changed before it was added"
        if notice.new is None:
            self.objects.pop(name, None)
        else:
            self.objects[name] = notice.new

    def versions(self) -> dict[str, str]:
        return {name: item.metadata.resource_version for name, item in self.objects.items()}


@asynccontextmanager
async def run_background(background: Informer[Any] | EventRecorder) -> AsyncIterator[None]:
    """Run `background` for the length of the block, which begins when an informer has synced."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(background.run())
        try:
            if isinstance(background, Informer):
                await background.synced()
            yield
        finally:
            task.cancel()


def stored_versions(informer: Informer[ConfigMap]) -> dict[str, str]:
    return {key_of(item).name: item.metadata.resource_version for item in informer.store.all()}


async def server_versions(admin: AdminClient, namespace: str) -> dict[str, str]:
    listed = await admin.get(f"/api/v1/namespaces/{namespace}/configmaps")
    return {
        item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]
    }


async def wait_equal(
    informer: Informer[ConfigMap], replica: NoticeReplica, admin: AdminClient, namespace: str
) -> None:
    """Wait until the store and the handler's replica equal the server's state."""

    async def compare() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        return (
            await server_versions(admin, namespace),
            stored_versions(informer),
            replica.versions(),
        )

    await eventually(
        compare, lambda versions: versions[0] == versions[1] == versions[2], tolerate=OSError
    )


async def change_until_cancelled(client: Client, namespace: str, names: list[str]) -> None:
    """Create, change and delete objects until cancelled, and ignore errors of the server."""
    turn = 0
    while True:
        turn += 1
        for name in names:
            with contextlib.suppress(KubeError):
                await client.apply(
                    CONFIG_MAPS, config_map_manifest(namespace, name, turn=str(turn))
                )
        await asyncio.sleep(0.01)
