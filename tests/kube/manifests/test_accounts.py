"""Accounts of the programs: each has the permissions that its program needs and no others."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hack.cluster.admin_client import AdminClient
from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP
from tests.support.cluster.account_roles import is_allowed
from tests.support.cluster.product_processes import install_product, run_product_process
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

ACCOUNTS = "/api/v1/namespaces/runtime-system/serviceaccounts"
RBAC = "rbac.authorization.k8s.io"
STOCK, INSTANCE, SYSTEM = "runtime-stock", "runtime-instance", "runtime-system"
NAMESPACES = [STOCK, INSTANCE, SYSTEM]
WRITE_VERBS = ("create", "delete", "get", "list", "patch")
WATCH_VERBS = (*WRITE_VERBS, "watch")
ALL_VERBS = (*WATCH_VERBS, "update", "deletecollection")


class Act(NamedTuple):
    """An action that an account may or may not do.

    Without a namespace or name it applies to all.
    """

    account: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def acts(account: str, verbs: Iterable[str], group: str, resource: str, *where: str) -> list[Act]:
    return [
        Act(account, verb, group, resource, place) for verb in verbs for place in where or ("",)
    ]


NEEDED = [
    *acts("runtime-api", ("get", "list", "watch"), "", "nodes"),
    *acts("runtime-api", ("list",), "storage.k8s.io", "storageclasses"),
    *acts("runtime-api", WATCH_VERBS, GROUP, "gpuunits", STOCK, INSTANCE),
    *acts("runtime-api", WRITE_VERBS, GROUP, "stockpools", STOCK),
    *acts("runtime-api", WATCH_VERBS, GROUP, "gpustorages", INSTANCE),
    *acts("runtime-api", ("create", "get", "list", "patch"), GROUP, "operations", SYSTEM),
    *acts("runtime-api", ("patch",), GROUP, "operations/status", SYSTEM),
    *acts("controller", ("list", "watch"), "", "nodes"),
    *acts("controller", ("patch",), GROUP, "gpuunits/status", STOCK, INSTANCE),
    *acts("controller", ("create", "patch"), "apps", "deployments", STOCK, INSTANCE),
    *acts("controller", ("patch",), "", "pods/status", INSTANCE),
    *acts("controller", ("patch",), GROUP, "gpustorages/status", INSTANCE),
    *acts("controller", ("create", "get", "patch"), "", "persistentvolumeclaims", INSTANCE),
    *acts("controller", ("create", "delete", "patch"), "batch", "jobs", INSTANCE),
    *acts("controller", ("list", "watch"), "storage.k8s.io", "storageclasses"),
    *acts("activator", ("get", "list", "patch", "watch"), GROUP, "functions", INSTANCE),
    *acts("activator", ("patch",), GROUP, "functions/status", INSTANCE),
    *acts("activator", ("get", "list", "watch"), GROUP, "gpuunits", INSTANCE),
    *acts("activator", ("create", "get", "patch"), "", "secrets", INSTANCE),
    *acts("activator", ("create", "get", "patch"), "coordination.k8s.io", "leases", SYSTEM),
    Act("credentials", "get", "", "secrets", SYSTEM, "nats-users"),
    Act("credentials", "patch", "", "secrets", SYSTEM, "nats-users"),
]
OUR_ACCOUNTS = ("runtime-api", "controller", "activator", "credentials")
REFUSED = [
    act
    for account in OUR_ACCOUNTS
    for act in (
        *acts(account, ALL_VERBS, "", "secrets", "", STOCK, SYSTEM),
        *acts(account, ("list", "watch", "delete"), "", "secrets", INSTANCE),
        *acts(account, ("create", "get"), "", "pods/exec", "", *NAMESPACES),
        *acts(account, ("create", "patch"), "", "pods", "", *NAMESPACES),
        *acts(account, ("create", "delete", "patch", "update"), "", "nodes"),
        *acts(account, ("create",), "", "serviceaccounts/token", "", *NAMESPACES),
        *acts(account, ("create", "patch", "bind", "escalate"), RBAC, "clusterroles"),
        *acts(account, ("create", "patch"), RBAC, "clusterrolebindings"),
        *acts(account, ("create", "patch"), RBAC, "rolebindings", "", *NAMESPACES),
        *acts(account, ("impersonate",), "", "serviceaccounts", "", *NAMESPACES),
        *acts(account, ALL_VERBS, GROUP, "gpuunits", "", "default", "kube-system", SYSTEM),
        *acts(account, ("deletecollection",), GROUP, "gpuunits", *NAMESPACES),
    )
] + [
    *acts("runtime-api", ALL_VERBS, "", "secrets", INSTANCE),
    *acts("controller", ALL_VERBS, "", "secrets", INSTANCE),
    *acts("credentials", ALL_VERBS, "", "secrets", INSTANCE),
    *acts("activator", ("create", "delete", "patch", "update"), GROUP, "gpuunits", STOCK, INSTANCE),
    *acts("activator", ("create", "delete", "update"), GROUP, "functions", INSTANCE),
    *acts("activator", ("update",), "", "secrets", INSTANCE),
    *acts("activator", ALL_VERBS, GROUP, "operations", "", *NAMESPACES),
    *acts("activator", ALL_VERBS, "", "pods", "", *NAMESPACES),
    *acts("activator", ALL_VERBS, "apps", "deployments", "", *NAMESPACES),
    *acts("runtime-api", ("patch", "update"), GROUP, "gpuunits/status", STOCK, INSTANCE),
    *acts("runtime-api", ("patch", "update"), GROUP, "gpustorages/status", INSTANCE),
    *acts("runtime-api", ("delete", "deletecollection"), GROUP, "operations", SYSTEM),
    *acts("runtime-api", ALL_VERBS, GROUP, "stockpools", INSTANCE, SYSTEM),
    *acts("runtime-api", ALL_VERBS, "", "pods", "", *NAMESPACES),
    *acts("runtime-api", ALL_VERBS, "apps", "deployments", "", *NAMESPACES),
    *acts("runtime-api", ALL_VERBS, "coordination.k8s.io", "leases", "", *NAMESPACES),
    *acts("controller", ("create",), GROUP, "operations", SYSTEM),
    *acts("controller", ("delete",), "apps", "replicasets", INSTANCE),
    *acts("controller", ("create", "delete"), GROUP, "gpustorages", INSTANCE),
    *acts("controller", ("delete", "deletecollection"), "", "persistentvolumeclaims", *NAMESPACES),
    *acts("controller", ALL_VERBS, "", "persistentvolumes"),
    *acts("credentials", ALL_VERBS, GROUP, "gpuunits", "", *NAMESPACES),
    *acts("credentials", ALL_VERBS, "", "configmaps", "", *NAMESPACES),
    *(Act("credentials", verb, "", "secrets", SYSTEM, "other") for verb in ALL_VERBS),
    *(
        Act("credentials", verb, "", "secrets", SYSTEM, "nats-users")
        for verb in ("delete", "update")
    ),
    *acts("credentials", ALL_VERBS, "coordination.k8s.io", "leases", "", *NAMESPACES),
]


def rule_of(act: Act) -> PolicyRule:
    names = (act.name,) if act.name else ()
    return PolicyRule(act.group, (act.resource,), (act.verb,), act.namespace, names)


async def allowed(admin: AdminClient, requested: list[Act]) -> list[Act]:
    """Return the actions of `requested` that the server allows."""
    return [act for act in requested if await is_allowed(admin, act.account, rule_of(act))]


@pytest.mark.parametrize("account", OUR_ACCOUNTS)
async def test_an_account_may_do_what_its_program_needs(
    installed_control_plane: ControlPlane, account: str
) -> None:
    needed = [act for act in NEEDED if act.account == account]
    await eventually(
        lambda: allowed(installed_control_plane.admin, needed), lambda found: found == needed
    )


@pytest.mark.parametrize("account", OUR_ACCOUNTS)
async def test_an_account_is_denied_everything_else(
    installed_control_plane: ControlPlane, account: str
) -> None:
    refused = [act for act in REFUSED if act.account == account]
    assert await allowed(installed_control_plane.admin, refused) == []


async def test_the_api_works_with_its_own_account(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = str(installed_control_plane.layout.kubeconfig("runtime-api"))
    async with run_product_process(
        product_processes.RUNTIME_API, tmp_path, {"kubeconfig": kubeconfig}
    ) as api:

        async def health() -> dict[str, Any]:
            _, body = await get(f"{api.url}/api/v1/health")
            data: dict[str, Any] = body["data"]
            return data

        data = await eventually(health, lambda data: "nodeCount" in data)
    assert (data["nodeCount"], data["readyNodeCount"], data["totalGPUCapacity"]) == (4, 4, 32)
    assert data["kubernetesVersion"].startswith("v1.36.")


# The activator needs a queue to start, and gets its Kubernetes client from the controller.
@pytest.mark.parametrize(
    "program",
    [product_processes.CONTROLLER, product_processes.RUNTIME_API],
    ids=lambda program: program.name,
)
async def test_a_program_uses_its_renewed_token_without_a_restart(
    installed_control_plane: ControlPlane, tmp_path: Path, program: product_processes.ProductProgram
) -> None:
    """Recreate the account, so that its old token is refused and the token file holds a new one."""
    kubeconfig = str(installed_control_plane.layout.kubeconfig(program.name))
    async with run_product_process(program, tmp_path, {"kubeconfig": kubeconfig}) as product:

        async def refusals() -> list[str]:
            _, metrics = await get(f"{product.url}/metrics")
            return re.findall(r'^rest_client_requests_total\{code="401".*$', metrics, re.MULTILINE)

        async def is_ready() -> bool:
            return (await get(f"{product.url}/readyz"))[0] == 200

        await installed_control_plane.admin.delete(f"{ACCOUNTS}/{program.name}")
        await install_product(installed_control_plane)
        await eventually(refusals)
        await eventually(is_ready)
