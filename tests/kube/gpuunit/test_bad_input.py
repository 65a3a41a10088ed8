"""Invalid input in a unit: refused at once with the field's path, or reported in the status."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from tests.support.builders.simulated_units import (
    IMAGE,
    PORTS,
    patch_unit,
    resource_version,
    unit_pods,
    user_unit_manifest,
    wait_observed_generation,
)
from tests.support.checks.event_notes import event_notes
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    ready_condition,
    unit_manifest,
)
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually


async def kubectl_apply(
    plane: ControlPlane, site: IsolatedInstallation, folder: Path, body: Mapping[str, Any]
) -> str:
    file = folder / "unit.yaml"
    file.write_text(yaml.safe_dump(dict(body)))
    return await admin_kubectl(plane).run(
        "apply", f"--cache-dir={folder}", "-n", site.namespaces.instance, "-f", str(file)
    )


def port(**fields: Any) -> dict[str, Any]:
    return {"template": {"ports": [{"name": "http", "port": 80, **fields}]}}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"specName": None}, "spec.specName", "Required value"),
    ({"specName": ""}, "spec.specName", "at least 1 chars long"),
    ({"gpu": -1}, "spec.gpu", "greater than or equal to 0"),
    ({"gpu": "two"}, "spec.gpu", 'must be of type integer: "string"'),
    ({"cpu": "many"}, "spec.cpu", 'Invalid value: "many"'),
    ({"shmSize": "-1Gi"}, "spec.shmSize", 'Invalid value: "-1Gi"'),
    ({"memory": 16}, "spec.memory", 'must be of type string: "integer"'),
    ({"gpus": 1}, "spec.gpus", "unknown field"),
    (port(port=0), "spec.template.ports[0].port", "greater than or equal to 1"),
    (port(port=70000), "spec.template.ports[0].port", "less than or equal to 65535"),
    (port(protocol="SCTP"), "spec.template.ports[0].protocol", 'supported values: "TCP", "UDP"'),
    ({"template": {"ports": [{"port": 1}]}}, "spec.template.ports[0].name", "Required value"),
    (
        {"template": {"envs": [{"name": "A"}, {"name": "A"}]}},
        "spec.template.envs[1]",
        "Duplicate value",
    ),
    ({"storageMounts": [{"name": "data"}]}, "spec.storageMounts[0].mountPath", "Required value"),
]


@pytest.mark.parametrize(("spec", "path", "why"), REFUSED)
async def test_the_server_rejects_an_invalid_unit_with_the_field_and_the_reason(
    installed_control_plane: ControlPlane,
    installation: IsolatedInstallation,
    tmp_path: Path,
    spec: dict[str, Any],
    path: str,
    why: str,
) -> None:
    body = user_unit_manifest("mine", **spec)
    body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
    with pytest.raises(ClusterError) as refusal:
        await kubectl_apply(installed_control_plane, installation, tmp_path, body)

    assert path in str(refusal.value)
    assert why in str(refusal.value)


# Values that the schema accepts: the reason, and the field with the given value.
STORED: list[tuple[dict[str, Any], str, str]] = [
    ({"memory": "lots"}, "InvalidSpec", 'spec.memory: "lots" is not'),
    ({"memory": "0"}, "InvalidSpec", 'spec.memory: "0" must be greater than 0'),
    ({"memory": ""}, "InvalidSpec", "spec.memory: is required"),
    ({"image": ""}, "InvalidSpec", "spec.image: is required"),
    ({"image": "my image"}, "InvalidSpec", 'spec.image: "my image" is not an image'),
    ({"cpu": "0"}, "InvalidSpec", 'spec.cpu: "0" must be greater than 0'),
    ({"gpuResource": "gpu"}, "InvalidSpec", 'spec.gpuResource: "gpu" is not'),
    ({"nodeSelector": {"zone": "a b"}}, "InvalidSpec", "spec.nodeSelector['zone']: \"a b\" is not"),
    (
        {"tolerations": [{"operator": "Like"}]},
        "InvalidSpec",
        'tolerations[0].operator: "Like" must be',
    ),
    ({"imagePullSecrets": ["My Keys"]}, "InvalidSpec", 'imagePullSecrets[0]: "My Keys" is not'),
    (port(name="not_a_port"), "InvalidSpec", 'spec.template.ports[0].name: "not_a_port" is not'),
    (
        {"template": PORTS, "access": {"primaryPort": "grpc"}},
        "AccessConfigInvalid",
        "spec.access.primaryPort: \"grpc\" is not a port of the unit; its ports are 'http'",
    ),
    ({"access": {"primaryPort": "http"}}, "AccessConfigInvalid", "spec.access: needs a port"),
    (
        {"template": PORTS, "access": {"scheme": "1://"}},
        "AccessConfigInvalid",
        'spec.access.scheme: "1://" is not a URL scheme',
    ),
    (
        {"storageMounts": [{"name": "data", "mountPath": "/proc"}]},
        "StorageMountInvalid",
        'spec.storageMounts[0].mountPath: "/proc"',
    ),
    (
        {"storageMounts": [{"name": "data", "mountPath": "relative"}]},
        "StorageMountInvalid",
        'spec.storageMounts[0].mountPath: "relative"',
    ),
]


@pytest.mark.parametrize(("spec", "reason", "message"), STORED)
async def test_an_invalid_unit_that_passes_the_schema_fails_with_field_and_value(
    installed_control_plane: ControlPlane,
    installation: IsolatedInstallation,
    tmp_path: Path,
    spec: dict[str, Any],
    reason: str,
    message: str,
) -> None:
    async with run_controller(installation):
        await kubectl_apply(
            installed_control_plane, installation, tmp_path, user_unit_manifest("mine", **spec)
        )
        unit = await installation.wait_unit_reason("mine", reason)
        children = [
            *await installation.list("deployments"),
            *await installation.list("networkpolicies"),
        ]
        await kubectl_apply(
            installed_control_plane, installation, tmp_path, user_unit_manifest("mine")
        )
        await installation.wait_unit_reason("mine", "UnitReady")

    assert unit["status"]["phase"] == "Failed"
    assert message in ready_condition(unit)["message"]
    assert children == []


async def test_an_invalid_unit_is_not_retried(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation) as registry:
        for number, (spec, _, _) in enumerate(STORED):
            await installation.create("gpuunits", user_unit_manifest(f"bad-{number}", **spec))
        settled = [
            await installation.wait_unit_reason(f"bad-{number}", reason)
            for number, (_, reason, _) in enumerate(STORED)
        ]
        await installation.create("gpuunits", user_unit_manifest("good"))
        await installation.wait_unit_reason("good", "UnitReady")
        later = [await installation.get_unit(unit["metadata"]["name"]) for unit in settled]

        assert counted(registry, "workqueue_retries_total", name="gpuunit") == 0
        assert (
            counted(registry, "controller_runtime_reconcile_errors_total", controller="gpuunit")
            == 0
        )
    assert list(map(resource_version, later)) == list(map(resource_version, settled))


def counted(registry: CollectorRegistry, metric: str, **labels: str) -> float:
    """Return the sum over all labels that are not given; the metric must exist."""
    values = [
        sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    ]
    assert values
    return sum(values)


async def test_an_invalid_change_does_not_affect_the_running_pod(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        await installation.wait_unit_reason("mine", "UnitReady")
        (before,) = await unit_pods(installation, "mine")
        await patch_unit(installation, "mine", memory="lots", template=None)
        unit = await installation.wait_unit_reason("mine", "InvalidSpec")
        service = await installation.admin.get(installation.path("services", "unit-mine"))
        await patch_unit(installation, "mine", memory="1Gi", template=PORTS)
        await wait_observed_generation(installation, "mine", 3)
        await installation.wait_unit_reason("mine", "UnitReady")
        (after,) = await unit_pods(installation, "mine")

    assert (unit["status"]["phase"], unit["status"]["observedGeneration"]) == ("Failed", 2)
    assert service["spec"]["ports"][0]["name"] == "http"
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_stock_with_invalid_resources_reports_them(
    installation: IsolatedInstallation,
) -> None:
    stock = installation.namespaces.stock
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest("warm", memory="lots"), namespace=stock)
        unit = await installation.wait_unit_reason("warm", "InvalidSpec", namespace=stock)
        await installation.admin.patch(
            installation.path("gpuunits", "warm", namespace=stock), {"spec": {"memory": "1Gi"}}
        )
        await installation.wait_unit_reason("warm", "StockReady", namespace=stock)

    assert 'spec.memory: "lots"' in ready_condition(unit)["message"]


async def test_stock_ignores_workload_fields_and_reports_them(
    installation: IsolatedInstallation,
) -> None:
    stock = installation.namespaces.stock
    body = unit_manifest("warm", image=IMAGE, template=PORTS, access={"primaryPort": "nowhere"})
    async with run_controller(installation):
        await installation.create("gpuunits", body, namespace=stock)
        await installation.wait_unit_reason("warm", "StockReady", namespace=stock)
        (pod,) = await installation.list("pods", namespace=stock)
        notes = await eventually(lambda: event_notes(installation.admin, stock, "Ignored"))

    assert pod["spec"]["containers"][0]["image"] != IMAGE
    assert notes == ["stock units ignore image, template, access"]
