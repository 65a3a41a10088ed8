"""The children of a unit: stored as they were built, so that no second apply is needed."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from controller.gpuunit.labels import extra_pod_labels
from controller.gpuunit.resources.deployment import deployment_manifest
from controller.gpuunit.resources.network_policy import network_policy_manifest
from controller.gpuunit.resources.service import service_manifest
from controller.kinds import DEPLOYMENTS, GPU_UNITS, NETWORK_POLICIES, SERVICES
from controller.runtime.client.client import Client
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.subset import contains_desired
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.validation.mounts import SHARED_MEMORY_PATH
from tests.support.builders.config_maps import connect_client
from tests.support.builders.gpu_units import FULL_SPEC, new_unit, unit_settings

PORTS = [{"name": "dns", "port": 53}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}]
TOLERATIONS = [
    {"operator": "Exists"},
    {"key": "a"},
    {"key": "b", "operator": "Equal", "value": "c", "effect": "NoSchedule"},
    {"key": "d", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    {"key": "e", "value": "f", "effect": "NoExecute", "tolerationSeconds": -1},
]
ODD: dict[str, dict[str, Any]] = {
    "plain": {},
    "full": FULL_SPEC,
    **{f"memory {text}": {"memory": text} for text in ("0.5Gi", "1000Mi", "1e9", "1500M", "64G")},
    "memory in bytes": {"memory": "17179869184", "shmSize": "1e9"},
    "memory with a fraction of a byte": {"memory": "1.0000000001Gi", "shmSize": "1100m"},
    "memory of one byte": {"memory": "1"},
    "whole cpu in thousandths": {"cpu": "1000m"},
    "cpu with a fraction": {"cpu": "0.1", "memory": "1Ti"},
    "cpu finer than a thousandth": {"cpu": "1u"},
    "cpu of two to the tenth": {"cpu": "1024"},
    "a thousand gpus": {"gpu": 1000, "gpuResource": "example.com/gpu"},
    "two to the tenth gpus": {"gpu": 1024},
    "empty env": {"template": {"envs": [{"name": "EMPTY"}, {"name": "GPU_COUNT", "value": ""}]}},
    "empty words": {"template": {"command": ["", "a"], "args": [""]}},
    "one port number twice": {"template": {"ports": PORTS}},
    "tolerations": {"tolerations": TOLERATIONS},
    "empty label values": {"nodeSelector": {"a": "", "example.com/b": "c"}},
    "a worker": {"serverless": {"requestID": "echo", "timeoutSeconds": 3570}, **FULL_SPEC},
    "shared memory replaced": {
        "storageMounts": [{"name": "fast", "mountPath": SHARED_MEMORY_PATH}]
    },
    "mount below another": {
        "storageMounts": [
            {"name": "a" * 63, "mountPath": "/data//"},
            {"name": "b", "mountPath": "/data/x/../y"},
        ]
    },
}


@pytest.fixture
async def client(installed_control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect_client(installed_control_plane.layout.admin_kubeconfig) as client:
        yield client


async def stored(client: Client, unit: GPUUnit) -> GPUUnit:
    """Create the unit; return it as the server has it.

    Without a real owner its children are garbage collected.
    """
    body = msgspec.to_builtins(unit)
    del body["metadata"]["uid"]
    return await client.create(GPU_UNITS, body)


def children(unit: GPUUnit, stock: str) -> Iterator[tuple[Kind[Any], dict[str, Any]]]:
    settings = unit_settings(stock, unit.metadata.namespace)
    for stop_old_pod_first in (False, True):
        deployment = deployment_manifest(
            unit, settings, extra_pod_labels(unit, settings), stop_old_pod_first=stop_old_pod_first
        )
        yield DEPLOYMENTS, deployment
    yield NETWORK_POLICIES, network_policy_manifest(unit, settings)
    if (service := service_manifest(unit)) is not None:
        yield SERVICES, service


async def differing(client: Client, unit: GPUUnit, stock: str = "elsewhere") -> list[str]:
    """Return the kinds of children whose stored state differs from the applied manifest."""
    kinds = []
    for kind, desired in children(unit, stock):
        live = await client.apply(kind, desired)
        stored_fields = {"metadata": msgspec.to_builtins(live.metadata), "spec": live.spec}
        if not contains_desired(stored_fields, desired):
            kinds.append(kind.name)
    return kinds


@pytest.mark.parametrize("spec", ODD.values(), ids=ODD.keys())
async def test_the_stored_children_match_the_built_children(
    client: Client, namespace: str, spec: dict[str, Any]
) -> None:
    unit = await stored(client, new_unit(namespace=namespace, **spec))
    assert await differing(client, unit) == []


async def test_stock_is_stored_as_it_was_built(client: Client, namespace: str) -> None:
    unit = await stored(client, new_unit(namespace=namespace, **FULL_SPEC))
    assert await differing(client, unit, stock=namespace) == []


async def test_labels_and_the_preferred_node_are_stored_as_they_were_built(
    client: Client, namespace: str
) -> None:
    unit = new_unit(
        "a" * 63,
        namespace=namespace,
        labels={wellknown.POOL_LABEL: "big", "sim.local/mode": "slow", "empty": ""},
        annotations={wellknown.ADMITTED_ANNOTATION: "node-1"},
        **FULL_SPEC,
    )
    assert await differing(client, await stored(client, unit)) == []


async def test_a_removed_port_is_removed_from_the_stored_service(
    client: Client, namespace: str
) -> None:
    unit = await stored(client, new_unit(namespace=namespace, template={"ports": PORTS}))
    desired = service_manifest(unit)
    assert desired is not None
    await client.apply(SERVICES, desired)
    fewer = {**desired, "spec": {**desired["spec"], "ports": desired["spec"]["ports"][:1]}}
    live = await client.apply(SERVICES, fewer)
    assert [port["name"] for port in live.spec["ports"]] == ["dns"]


async def test_fields_added_by_others_are_no_drift_but_changed_fields_are(
    client: Client, namespace: str
) -> None:
    unit = await stored(client, new_unit(namespace=namespace, **FULL_SPEC))
    desired = deployment_manifest(
        unit, unit_settings("elsewhere", namespace), {}, stop_old_pod_first=False
    )
    deployment = await client.apply(DEPLOYMENTS, desired)
    key = key_of(deployment)

    async def is_covered_after(change: dict[str, Any]) -> bool:
        live = await client.patch(DEPLOYMENTS, key, change)
        return contains_desired(
            {"metadata": msgspec.to_builtins(live.metadata), "spec": live.spec}, desired
        )

    assert await is_covered_after({"metadata": {"labels": {"team": "a"}}})
    assert await is_covered_after({"spec": {"minReadySeconds": 5}})
    assert not await is_covered_after({"spec": {"replicas": 2}})
