"""Validation rules for units: ours and the API server's agree wherever both have one."""

from typing import Any

import pytest

from controller.gpuunit.resources.deployment import deployment_manifest
from controller.gpuunit.resources.service import service_manifest
from controller.kinds import DEPLOYMENTS, SERVICES
from controller.runtime.client.kind import Kind, key_of
from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.problem import Problem, truncate
from shared.v1alpha1.validation.resources import resource_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems
from tests.support.builders.gpu_units import FULL_SPEC, new_unit, unit_settings


def tolerating(**toleration: Any) -> dict[str, Any]:
    return {"tolerations": [toleration]}


def running(**template: Any) -> dict[str, Any]:
    return {"template": template}


def secret_env(name: str, key: str, **more: str) -> dict[str, Any]:
    source = {"secretKeyRef": {"name": name, "key": key}}
    return running(envs=[{"name": "A", "valueFrom": source, **more}])


def mounting(*mounts: tuple[str, str]) -> dict[str, Any]:
    return {"storageMounts": [{"name": name, "mountPath": path} for name, path in mounts]}


ACCEPTED: list[dict[str, Any]] = [
    {},
    FULL_SPEC,
    {"memory": "1n", "cpu": "1n", "shmSize": "1n"},
    {"memory": "9223372036854775807", "cpu": ".5", "shmSize": "5."},
    {"gpu": 1, "gpuResource": "a/B_c.d"},
    {"gpu": 1, "gpuResource": f"{'a' * 244}/gpu"},
    {"nodeSelector": {f"{'a' * 253}/{'B' * 63}": "c" * 63, "a": "", "0": "A_b.c-D"}},
    tolerating(operator="Exists"),
    tolerating(operator="Exists", effect="PreferNoSchedule"),
    tolerating(key="a/b", value="A_b"),
    tolerating(key="a", effect="NoExecute", tolerationSeconds=-5),
    {"image": "any/thing@that:has/no.blanks"},
    running(envs=[{"name": " "}, {"name": "1 $(B)~"}, {"name": ".."}]),
    secret_env("a.b", ".c"),
    secret_env("a" * 253, "B" * 253),
    running(ports=[{"name": "1a", "port": 1}, {"name": "a" * 15, "port": 65535}]),
    running(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 1, "protocol": "UDP"}]),
    mounting(("a" * 63, "/a b"), ("0", "/a b/c"), ("c", "/devices")),
]
REFUSED: list[dict[str, Any]] = [
    {"memory": "-1Gi"},
    {"gpu": 1, "gpuResource": "gpu"},
    {"gpu": 1, "gpuResource": "requests.example.com/gpu"},
    {"gpu": 1, "gpuResource": f"{'a' * 245}/gpu"},
    {"gpu": 1, "gpuResource": "example.com/"},
    {"nodeSelector": {"a b": ""}},
    {"nodeSelector": {"a/b/c": ""}},
    {"nodeSelector": {"a" * 64: ""}},
    {"nodeSelector": {"a": "-"}},
    {"nodeSelector": {"a": "b" * 64}},
    tolerating(effect="NoSchedule"),
    tolerating(key="-"),
    tolerating(key="a", operator="Like"),
    tolerating(key="a", operator="Exists", value="b"),
    tolerating(key="a", value="-"),
    tolerating(key="a", effect="Never"),
    tolerating(key="a", effect="NoSchedule", tolerationSeconds=5),
    {"image": ""},
    running(envs=[{"name": "a=b"}]),
    running(envs=[{"name": "ä"}]),
    running(envs=[{"name": "a\tb"}]),
    secret_env("keys", "token", value="both"),
    secret_env("Keys", "token"),
    secret_env("keys", "to/ken"),
    secret_env("keys", ".."),
    secret_env("keys", "..token"),
    running(ports=[{"name": "a" * 16, "port": 1}]),
    running(ports=[{"name": "1", "port": 1}]),
    running(ports=[{"name": "a--b", "port": 1}]),
    running(ports=[{"name": "a", "port": 1}, {"name": "a", "port": 2}]),
    mounting(("a.b", "/a")),
    mounting(("A", "/a")),
]
# The server reports these as a different kind of error, on which a controller would retry without
# end.
REPEATED: list[dict[str, Any]] = [
    running(envs=[{"name": "A"}, {"name": "A"}]),
    running(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 1}]),
    {"imagePullSecrets": ["a", "a"]},
    mounting(("a", "/a"), ("b", "/a/")),
]


def shown(value: object) -> str:
    return truncate(repr(value))


def problems(spec: GPUUnitSpec) -> list[Problem]:
    return [
        *resource_problems(spec),
        *workload_problems(spec),
        *access_problems(spec),
        *mount_problems(spec),
    ]


async def try_out(admin: AdminClient, kind: Kind[Any], body: dict[str, Any], unit: GPUUnit) -> None:
    path = kind.object_path(key_of(unit)._replace(name=body["metadata"]["name"]))
    typed = {"apiVersion": kind.api_version, "kind": kind.name, **body}
    await admin.apply(path, typed, dryRun="All")


async def try_out_children(admin: AdminClient, unit: GPUUnit) -> None:
    settings = unit_settings("elsewhere", unit.metadata.namespace)
    await try_out(
        admin, DEPLOYMENTS, deployment_manifest(unit, settings, {}, stop_old_pod_first=False), unit
    )
    if (service := service_manifest(unit)) is not None:
        await try_out(admin, SERVICES, service, unit)


@pytest.mark.parametrize("spec", ACCEPTED, ids=shown)
async def test_a_spec_that_passes_our_rules_is_accepted_by_the_server(
    installed_control_plane: ControlPlane, namespace: str, spec: dict[str, Any]
) -> None:
    unit = new_unit(namespace=namespace, **spec)
    assert problems(unit.spec) == []
    await try_out_children(installed_control_plane.admin, unit)


@pytest.mark.parametrize(
    ("spec", "status"),
    [*((spec, 422) for spec in REFUSED), *((spec, 500) for spec in REPEATED)],
    ids=shown,
)
async def test_a_spec_that_the_server_refuses_fails_our_rules(
    installed_control_plane: ControlPlane, namespace: str, spec: dict[str, Any], status: int
) -> None:
    unit = new_unit(namespace=namespace, **spec)
    assert len(problems(unit.spec)) == 1
    with pytest.raises(ApiStatusError) as refusal:
        await try_out_children(installed_control_plane.admin, unit)
    assert refusal.value.status == status
