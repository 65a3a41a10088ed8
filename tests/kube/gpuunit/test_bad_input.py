"""What a person may get wrong in a unit: refused at once with its path, or told in the status."""

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
    a_users_unit,
    change,
    pods_of,
    unit_seen_at,
    version_of,
)
from tests.support.checks.event_notes import told
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit, ready_of
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually


async def kubectl_apply(
    plane: ControlPlane, site: Site, folder: Path, body: Mapping[str, Any]
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
async def test_the_server_refuses_with_the_field_and_the_reason(
    installed: ControlPlane,
    site: Site,
    tmp_path: Path,
    spec: dict[str, Any],
    path: str,
    why: str,
) -> None:
    body = a_users_unit("mine", **spec)
    body["spec"] = {name: value for name, value in body["spec"].items() if value is not None}
    with pytest.raises(ClusterError) as refusal:
        await kubectl_apply(installed, site, tmp_path, body)

    assert path in str(refusal.value)
    assert why in str(refusal.value)


# What the schema lets pass: the reason, and the field with the value that was given.
STORED: list[tuple[dict[str, Any], str, str]] = [
    ({"memory": "lots"}, "InvalidSpec", 'spec.memory: "lots" is not'),
    ({"memory": "0"}, "InvalidSpec", 'spec.memory: "0" is not above 0'),
    ({"memory": ""}, "InvalidSpec", "spec.memory: is required"),
    ({"image": ""}, "InvalidSpec", "spec.image: is required"),
    ({"image": "my image"}, "InvalidSpec", 'spec.image: "my image" is no image'),
    ({"cpu": "0"}, "InvalidSpec", 'spec.cpu: "0" is not above 0'),
    ({"gpuResource": "gpu"}, "InvalidSpec", 'spec.gpuResource: "gpu" is not'),
    ({"nodeSelector": {"zone": "a b"}}, "InvalidSpec", "spec.nodeSelector['zone']: \"a b\" is not"),
    ({"tolerations": [{"operator": "Like"}]}, "InvalidSpec", 'tolerations[0].operator: "Like" is'),
    ({"imagePullSecrets": ["My Keys"]}, "InvalidSpec", 'imagePullSecrets[0]: "My Keys" is not'),
    (port(name="not_a_port"), "InvalidSpec", 'spec.template.ports[0].name: "not_a_port" is not'),
    (
        {"template": PORTS, "access": {"primaryPort": "grpc"}},
        "AccessConfigInvalid",
        "spec.access.primaryPort: \"grpc\" is no port of the unit; there are 'http'",
    ),
    ({"access": {"primaryPort": "http"}}, "AccessConfigInvalid", "spec.access: needs a port"),
    (
        {"template": PORTS, "access": {"scheme": "1://"}},
        "AccessConfigInvalid",
        'spec.access.scheme: "1://" is not a scheme',
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


@pytest.mark.parametrize(("spec", "reason", "said"), STORED)
async def test_what_passes_the_schema_fails_with_the_field_and_the_value_until_it_is_fixed(
    installed: ControlPlane,
    site: Site,
    tmp_path: Path,
    spec: dict[str, Any],
    reason: str,
    said: str,
) -> None:
    async with controlled(site):
        await kubectl_apply(installed, site, tmp_path, a_users_unit("mine", **spec))
        unit = await site.unit_with("mine", reason)
        children = [*await site.list("deployments"), *await site.list("networkpolicies")]
        await kubectl_apply(installed, site, tmp_path, a_users_unit("mine"))
        await site.unit_with("mine", "UnitReady")

    assert unit["status"]["phase"] == "Failed"
    assert said in ready_of(unit)["message"]
    assert children == []


async def test_a_refused_unit_is_not_tried_again_and_again(site: Site) -> None:
    async with controlled(site) as registry:
        for number, (spec, _, _) in enumerate(STORED):
            await site.create("gpuunits", a_users_unit(f"bad-{number}", **spec))
        settled = [
            await site.unit_with(f"bad-{number}", reason)
            for number, (_, reason, _) in enumerate(STORED)
        ]
        await site.create("gpuunits", a_users_unit("good"))
        await site.unit_with("good", "UnitReady")
        later = [await site.unit(unit["metadata"]["name"]) for unit in settled]

        assert counted(registry, "workqueue_retries_total", name="gpuunit") == 0
        assert (
            counted(registry, "controller_runtime_reconcile_errors_total", controller="gpuunit")
            == 0
        )
    assert list(map(version_of, later)) == list(map(version_of, settled))


def counted(registry: CollectorRegistry, metric: str, **labels: str) -> float:
    """The sum over all labels that are not given; there is such a metric."""
    values = [
        sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    ]
    assert values
    return sum(values)


async def test_a_bad_change_leaves_what_runs_alone(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        await site.unit_with("mine", "UnitReady")
        (before,) = await pods_of(site, "mine")
        await change(site, "mine", memory="lots", template=None)
        unit = await site.unit_with("mine", "InvalidSpec")
        service = await site.admin.get(site.path("services", "unit-mine"))
        await change(site, "mine", memory="1Gi", template=PORTS)
        await unit_seen_at(site, "mine", 3)
        await site.unit_with("mine", "UnitReady")
        (after,) = await pods_of(site, "mine")

    assert (unit["status"]["phase"], unit["status"]["observedGeneration"]) == ("Failed", 2)
    assert service["spec"]["ports"][0]["name"] == "http"
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_stock_with_a_bad_envelope_says_so(site: Site) -> None:
    stock = site.namespaces.stock
    async with controlled(site):
        await site.create("gpuunits", a_unit("warm", memory="lots"), namespace=stock)
        unit = await site.unit_with("warm", "InvalidSpec", namespace=stock)
        await site.admin.patch(
            site.path("gpuunits", "warm", namespace=stock), {"spec": {"memory": "1Gi"}}
        )
        await site.unit_with("warm", "StockReady", namespace=stock)

    assert 'spec.memory: "lots"' in ready_of(unit)["message"]


async def test_stock_ignores_what_only_users_units_have_and_says_so(site: Site) -> None:
    stock = site.namespaces.stock
    body = a_unit("warm", image=IMAGE, template=PORTS, access={"primaryPort": "nowhere"})
    async with controlled(site):
        await site.create("gpuunits", body, namespace=stock)
        await site.unit_with("warm", "StockReady", namespace=stock)
        (pod,) = await site.list("pods", namespace=stock)
        notes = await eventually(lambda: told(site.admin, stock, "Ignored"))

    assert pod["spec"]["containers"][0]["image"] != IMAGE
    assert notes == ["stock ignores image, template, access"]
