"""An informer under all faults that a server and a network can cause.

After every fault the cache equals the server's objects, and so does the state that a handler built
from its notifications.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from hack.cluster import kubeconfig
from hack.cluster.admin_client import AdminClient
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import (
    CONFIG_MAPS,
    ConfigMap,
    config_map_manifest,
    connect_client,
    new_informer,
)
from tests.support.builders.note_resource import NOTES, note_manifest
from tests.support.checks.informer_checks import (
    NoticeReplica,
    change_until_cancelled,
    run_background,
    wait_equal,
)
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually

NAMES = [f"n{number}" for number in range(10)]


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect_client(control_plane.layout.admin_kubeconfig) as client:
        yield client


@asynccontextmanager
async def changing(client: Client, namespace: str) -> AsyncIterator[None]:
    """Change objects continuously inside the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(change_until_cancelled(client, namespace, NAMES))
        try:
            yield
        finally:
            task.cancel()


async def kill_server(plane: ControlPlane) -> None:
    await plane.kube_apiserver.kill()
    plane.kube_apiserver.start()
    await plane.wait_apiserver_ready()


async def kill_etcd(plane: ControlPlane) -> None:
    await plane.etcd.kill()
    plane.etcd.start()
    await plane.wait_etcd_ready()
    await plane.wait_apiserver_ready()


async def kill_both(plane: ControlPlane) -> None:
    await plane.kube_apiserver.kill()
    await kill_etcd_process(plane)
    plane.kube_apiserver.start()
    await plane.wait_apiserver_ready()


async def kill_etcd_process(plane: ControlPlane) -> None:
    await plane.etcd.kill()
    plane.etcd.start()
    await plane.wait_etcd_ready()


async def pause_server(plane: ControlPlane) -> None:
    impatient = AdminClient(plane.layout.server_url, plane.layout.pki_dir, timeout=2.0)
    await plane.kube_apiserver.pause()
    with pytest.raises(TimeoutError):
        await impatient.get("/readyz")
    plane.kube_apiserver.resume()
    await plane.wait_apiserver_ready()


@pytest.mark.parametrize("streaming", [False, True], ids=["list", "streaming"])
@pytest.mark.parametrize("fault", [kill_server, kill_etcd, kill_both, pause_server])
async def test_the_store_is_correct_after_the_server_was_unavailable(
    control_plane: ControlPlane,
    client: Client,
    namespace: str,
    fault: Callable[[ControlPlane], Awaitable[None]],
    streaming: bool,
) -> None:
    informer, replica = new_informer(client, namespace, use_watch_list=streaming), NoticeReplica()
    informer.subscribe(replica)
    async with run_background(informer):
        async with changing(client, namespace):
            await eventually(lambda: asyncio.sleep(0, len(replica.notices)), lambda n: n > 30)
            await fault(control_plane)
            seen = len(replica.notices)
            await eventually(
                lambda: asyncio.sleep(0, len(replica.notices)), lambda n: n > seen + 30
            )
        await wait_equal(informer, replica, control_plane.admin, namespace)


async def test_objects_deleted_during_an_outage_are_removed_from_the_store(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    for name in NAMES:
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, name))
    async with proxied(control_plane, namespace) as (proxy, informer, replica):
        proxy.refuse()
        proxy.cut()
        for name in NAMES[:5]:
            await control_plane.admin.delete(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        proxy.clear_faults()
        await wait_equal(informer, replica, control_plane.admin, namespace)
    assert set(replica.objects) >= set(NAMES[5:])
    assert not set(replica.objects) & set(NAMES[:5])


@asynccontextmanager
async def proxied(
    plane: ControlPlane, namespace: str
) -> AsyncIterator[tuple[TCPProxy, Informer[ConfigMap], NoticeReplica]]:
    """Run an informer that reaches the server only through a proxy."""
    port = urlsplit(plane.layout.server_url).port
    assert port is not None
    async with TCPProxy("127.0.0.1", port).serve() as proxy:
        path = through(plane, proxy)
        async with connect_client(path) as client:
            informer, replica = new_informer(client, namespace), NoticeReplica()
            informer.subscribe(replica)
            async with run_background(informer):
                yield proxy, informer, replica


def through(plane: ControlPlane, proxy: TCPProxy) -> Path:
    """Write the administrator's kubeconfig with the proxy's address."""
    pki = plane.layout.pki_dir
    address = kubeconfig.ApiServerEndpoint(
        f"https://127.0.0.1:{proxy.port}", (pki / "ca.crt").read_bytes()
    )
    path = plane.layout.state_dir / f"proxied-{proxy.port}"
    path.write_text(
        kubeconfig.kubeconfig_for_certificate(address, pki / "admin.crt", pki / "admin.key")
    )
    return path


@pytest.mark.parametrize("fault", ["cut", "half_close"])
async def test_the_store_is_correct_after_connections_were_cut(
    control_plane: ControlPlane, client: Client, namespace: str, fault: str
) -> None:
    async with proxied(control_plane, namespace) as (proxy, informer, replica):
        async with changing(client, namespace):
            for _ in range(5):
                seen = len(replica.notices)
                await eventually(
                    lambda seen=seen: asyncio.sleep(0, len(replica.notices) > seen + 5)  # type: ignore[misc]
                )
                getattr(proxy, fault)()
        await wait_equal(informer, replica, control_plane.admin, namespace)


async def test_a_stalled_connection_is_closed_and_the_store_is_correct_again(
    control_plane: ControlPlane,
    client: Client,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.runtime.cache.reflector.WATCH_IDLE_TIMEOUT_SECONDS", 1.0)
    async with proxied(control_plane, namespace) as (proxy, informer, replica):
        proxy.stall()
        before = proxy.accepted_count
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "unheard"))
        await eventually(lambda: asyncio.sleep(0, informer.silent_seconds()), lambda s: s > 1.5)
        proxy.clear_faults()
        await wait_equal(informer, replica, control_plane.admin, namespace)
        assert proxy.accepted_count > before


async def test_the_longest_line_that_a_server_sends_is_read_completely(
    control_plane: ControlPlane, notes_admin: AdminClient, client: Client, namespace: str
) -> None:
    """Check the largest object.

    etcd accepts requests of 1.5 MiB; a unit test checks longer lines.
    """
    metrics, clock = InformerMetrics(CollectorRegistry()), SystemClock()
    informer = Informer(client, WatchScope(NOTES, namespace), metrics, clock, Random(7))
    async with run_background(informer):
        body = note_manifest(namespace, "big", 7)
        body["spec"]["filling"] = "x" * 1_400_000
        await notes_admin.create(f"/apis/tests.local/v1/namespaces/{namespace}/notes", body)
        await eventually(
            lambda: asyncio.sleep(0, informer.store.get(ObjectKey(namespace, "big"))),
            lambda note: note is not None and note.spec.size == 7,
        )


async def test_an_informer_that_stops_leaves_no_connection_and_no_task(
    control_plane: ControlPlane, namespace: str
) -> None:
    before = asyncio.all_tasks()
    async with proxied(control_plane, namespace) as (proxy, _, _):
        assert proxy.connection_count
    assert proxy.connection_count == 0
    assert asyncio.all_tasks() == before
