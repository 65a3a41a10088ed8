"""Drift of a unit's children: our fields are restored, and fields of others are kept."""

from typing import Any

import pytest

from tests.support.builders.simulated_units import (
    PORTS,
    patch_unit,
    resource_version,
    unit_pods,
    user_unit_manifest,
)
from tests.support.checks.deployment_status import is_rollout_complete
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.wait.eventually import eventually

CHILDREN = {
    "deployments": "unit-mine",
    "services": "unit-mine",
    "networkpolicies": "egress-mine",
}


async def ready_unit(site: IsolatedInstallation, **spec: Any) -> dict[str, Any]:
    await site.create("gpuunits", user_unit_manifest("mine", **{"template": PORTS, **spec}))
    return await site.wait_unit_reason("mine", "UnitReady")


async def child(site: IsolatedInstallation, kind: str, *, namespace: str = "") -> dict[str, Any]:
    body: dict[str, Any] = await site.admin.get(
        site.path(kind, CHILDREN[kind], namespace=namespace)
    )
    return body


async def edit(site: IsolatedInstallation, kind: str, body: dict[str, Any]) -> None:
    await site.admin.patch(site.path(kind, CHILDREN[kind]), body)


@pytest.mark.parametrize("kind", CHILDREN)
async def test_a_deleted_child_is_recreated(installation: IsolatedInstallation, kind: str) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
        first = await child(installation, kind)
        await installation.admin.delete(installation.path(kind, CHILDREN[kind]))
        second = await eventually(
            lambda: child(installation, kind),
            lambda child_body: child_body["metadata"]["uid"] != first["metadata"]["uid"],
            tolerate=Exception,
        )
        await installation.wait_unit_reason("mine", "UnitReady")

    assert ours(second) == ours(first)


def ours(child_body: dict[str, Any]) -> Any:
    """Return the fields that the controller sets; the server assigns addresses."""
    assigned = ("clusterIP", "clusterIPs")
    return {name: value for name, value in child_body["spec"].items() if name not in assigned}


def template_of(**container: Any) -> dict[str, Any]:
    fields = {"name": "unit", "image": "example/image:1", **container}
    return {"spec": {"containers": [fields]}}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param("deployments", {"replicas": 3}, id="scaled up"),
        pytest.param("deployments", {"replicas": 0}, id="scaled down"),
        pytest.param("deployments", {"template": template_of(image="example/evil:1")}, id="image"),
        pytest.param(
            "deployments",
            {"template": template_of(ports=[{"name": "http", "containerPort": 80}])},
            id="container port",
        ),
        pytest.param(
            "deployments", {"strategy": {"type": "Recreate", "rollingUpdate": None}}, id="strategy"
        ),
        pytest.param("services", {"selector": {"app": "other"}}, id="selector"),
        pytest.param("services", {"ports": [{"port": 1}]}, id="ports"),
        pytest.param("services", {"ports": [{"name": "http", "port": 80}]}, id="port number"),
        pytest.param(
            "networkpolicies", {"podSelector": {"matchLabels": {"app": "other"}}}, id="pod selector"
        ),
        pytest.param("networkpolicies", {"egress": [{}]}, id="egress"),
        pytest.param("networkpolicies", {"ingress": None}, id="ingress"),
        pytest.param("networkpolicies", {"policyTypes": ["Ingress"]}, id="policy types"),
    ],
)
async def test_an_edited_field_is_restored(
    installation: IsolatedInstallation, kind: str, spec: dict[str, Any]
) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
        before = await child(installation, kind)
        await edit(installation, kind, {"spec": spec})
        after = await eventually(
            lambda: child(installation, kind),
            lambda current: (
                current["spec"] == before["spec"]
                and resource_version(current) != resource_version(before)
            ),
        )

    assert after["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("kind", CHILDREN)
async def test_removed_labels_and_annotations_of_a_child_are_restored(
    installation: IsolatedInstallation, kind: str
) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
        before = (await child(installation, kind))["metadata"]
        await edit(installation, kind, {"metadata": dict.fromkeys(("labels", "annotations"))})
        after = await eventually(
            lambda: child(installation, kind),
            lambda current: current["metadata"].get("labels") == before["labels"],
        )

    annotations = after["metadata"]["annotations"]
    hashes = [name for name in before["annotations"] if name.endswith("/applied-hash")]
    assert [annotations[name] for name in hashes] == [
        before["annotations"][name] for name in hashes
    ]


async def test_fields_added_by_others_stay_when_drift_is_corrected(
    installation: IsolatedInstallation,
) -> None:
    foreign = {"labels": {"team": "blue"}, "annotations": {"example.com/note": "theirs"}}
    async with run_controller(installation):
        await ready_unit(installation)
        pod = (await child(installation, "deployments"))["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        container["env"].append({"name": "DEBUG", "value": "1"})
        added = {"minReadySeconds": 1, "template": {"spec": {"containers": [container]}}}
        await edit(
            installation, "deployments", {"metadata": foreign, "spec": {**added, "replicas": 2}}
        )
        ports = [*PORTS["ports"], {"name": "theirs", "port": 80}]
        spec = {"sessionAffinity": "ClientIP", "ports": ports, "selector": {"app": "other"}}
        await edit(installation, "services", {"metadata": foreign, "spec": spec})
        deployment = await eventually(
            lambda: child(installation, "deployments"),
            lambda deployment: deployment["spec"]["replicas"] == 1,
        )
        service = await eventually(
            lambda: child(installation, "services"),
            lambda service: "app" not in service["spec"]["selector"],
        )
        await installation.wait_unit_reason("mine", "UnitReady")

    for child_body in (deployment, service):
        assert foreign["labels"].items() <= child_body["metadata"]["labels"].items()
        assert foreign["annotations"].items() <= child_body["metadata"]["annotations"].items()
    assert deployment["spec"]["minReadySeconds"] == 1
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "DEBUG", "value": "1"} in container["env"]
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    assert [port["name"] for port in service["spec"]["ports"]] == ["http", "theirs"]


async def test_children_that_a_unit_no_longer_needs_are_deleted(
    installation: IsolatedInstallation,
) -> None:
    both = {"ports": [*PORTS["ports"], {"name": "stats", "port": 9000}]}
    async with run_controller(installation):
        await ready_unit(installation, template=both)
        await patch_unit(installation, "mine", template=PORTS)
        service = await eventually(
            lambda: child(installation, "services"),
            lambda service: len(service["spec"]["ports"]) == 1,
        )
        await patch_unit(installation, "mine", template=None)
        await installation.wait_gone("services", "unit-mine")
        unit = await eventually(
            lambda: installation.get_unit("mine"), lambda unit: "accessURL" not in unit["status"]
        )

    assert service["spec"]["ports"][0]["name"] == "http"
    assert "serviceName" not in unit["status"]


async def test_drift_is_corrected_after_a_time_without_a_controller(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
    await edit(installation, "deployments", {"spec": {"replicas": 0}})
    await installation.admin.delete(installation.path("networkpolicies", "egress-mine"))
    async with run_controller(installation):
        await eventually(
            lambda: child(installation, "deployments"),
            lambda deployment: deployment["spec"]["replicas"] == 1,
        )
        await eventually(lambda: child(installation, "networkpolicies"), tolerate=Exception)
        await installation.wait_unit_reason("mine", "UnitReady")


async def test_a_scaled_down_deployment_of_stock_is_restored(
    installation: IsolatedInstallation,
) -> None:
    stock = installation.namespaces.stock
    path = installation.path("deployments", "unit-mine", namespace=stock)
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest("mine"), namespace=stock)
        await installation.wait_unit_reason("mine", "StockReady", namespace=stock)
        await installation.admin.patch(path, {"spec": {"replicas": 0}})
        await eventually(
            lambda: child(installation, "deployments", namespace=stock),
            lambda deployment: deployment["spec"]["replicas"] == 1,
        )
        await installation.wait_unit_reason("mine", "StockReady", namespace=stock)


async def test_a_new_controller_writes_nothing(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
        await eventually(lambda: child(installation, "deployments"), is_rollout_complete)
        before = await versions(installation)
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("other"))
        await installation.wait_unit_reason("other", "UnitReady")
        after = await versions(installation)

    assert after == before


async def versions(site: IsolatedInstallation) -> list[str]:
    """Return the versions of the unit, its children and its pod.

    Any write to one of them changes the list.
    """
    objects = [await site.get_unit("mine"), *await unit_pods(site, "mine")]
    return [
        resource_version(item)
        for item in (*objects, *[await child(site, kind) for kind in CHILDREN])
    ]


async def test_a_correction_is_reported_as_an_event(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await ready_unit(installation)
        await edit(installation, "deployments", {"spec": {"replicas": 2}})
        events = await eventually(
            lambda: installation.list("events"),
            lambda events: any(event["reason"] == "Updated" for event in events),
        )

    (event,) = [event for event in events if event["reason"] == "Updated"]
    assert event["note"] == "Updated Deployment unit-mine"
