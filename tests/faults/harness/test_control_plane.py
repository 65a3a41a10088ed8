"""Control over each part of the control plane: kill, pause, stop and start again."""

import asyncio
import secrets
from typing import Any

import aiohttp
import psutil
import pytest

from hack.cluster.control_plane import ControlPlane
from hack.cluster.process import Process
from tests.support.builders.pods import pod_manifest
from tests.support.wait.eventually import eventually

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PARTS = ("etcd", "kube_apiserver", "kube_controller_manager", "kube_scheduler", "kwok")


async def create_config_map(plane: ControlPlane) -> str:
    name = f"config-map-{secrets.token_hex(4)}"
    await plane.admin.create(CONFIG_MAPS, {"metadata": {"name": name}})
    return f"{CONFIG_MAPS}/{name}"


async def test_objects_survive_a_kill_of_etcd_and_the_api_server(
    control_plane: ControlPlane,
) -> None:
    config_map = await create_config_map(control_plane)
    await control_plane.kube_apiserver.kill()
    await control_plane.etcd.kill()
    with pytest.raises(aiohttp.ClientConnectionError):
        await control_plane.admin.get(config_map)
    control_plane.etcd.start()
    control_plane.kube_apiserver.start()
    await control_plane.wait_etcd_ready()
    await control_plane.wait_apiserver_ready()
    assert await control_plane.admin.get(config_map)


async def test_a_paused_api_server_does_not_respond_until_it_is_resumed(
    control_plane: ControlPlane,
) -> None:
    config_map = await create_config_map(control_plane)
    short_timeout_client = type(control_plane.admin)(
        control_plane.layout.server_url, control_plane.layout.pki_dir, timeout=0.5
    )
    await control_plane.kube_apiserver.pause()
    try:
        with pytest.raises(TimeoutError):
            await short_timeout_client.get(config_map)
    finally:
        control_plane.kube_apiserver.resume()
    assert await control_plane.admin.get(config_map)


@pytest.mark.parametrize("part", PARTS)
async def test_each_process_can_be_stopped_and_started_again(
    control_plane: ControlPlane, part: str
) -> None:
    process: Process = getattr(control_plane, part)
    before = process.pid
    await process.stop()
    after_stop = process.pid
    process.start()
    assert (after_stop, process.pid == before) == (None, False)
    await control_plane.wait_etcd_ready()
    await control_plane.wait_apiserver_ready()
    await create_config_map(control_plane)


async def test_kwok_runs_all_pods_and_holds_no_lease_after_a_kill(
    control_plane: ControlPlane, namespace: str
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"

    async def read_phases() -> list[str]:
        items: list[dict[str, Any]] = (await control_plane.admin.get(pods))["items"]
        return [pod["status"]["phase"] for pod in items]

    await control_plane.kwok.kill()
    manifests = [scheduled_pod(f"gpu-{number % 4}", f"pod-{number}") for number in range(16)]
    await asyncio.gather(*(control_plane.admin.create(pods, manifest) for manifest in manifests))
    control_plane.kwok.start()
    await eventually(read_phases, lambda phases: phases == ["Running"] * len(manifests))
    assert (await control_plane.admin.get(NODE_LEASES))["items"] == []


def scheduled_pod(node: str, name: str) -> dict[str, Any]:
    pod = pod_manifest(name)
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


async def test_a_pid_file_names_the_process_itself_while_it_runs(
    control_plane: ControlPlane,
) -> None:
    process = control_plane.kwok
    pid_file = control_plane.layout.state_dir / "pids" / "kwok"
    assert int(pid_file.read_text()) == process.pid
    assert psutil.Process(process.pid).name() == "kwok"
    await process.kill()
    process.start()
    await eventually(lambda: control_plane.admin.get("/readyz"), lambda text: text == "ok")
    assert int(pid_file.read_text()) == process.pid
