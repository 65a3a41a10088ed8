"""Each program has its own account, which may do what the program needs and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.admin import Admin
from hack.cluster.controlplane import ControlPlane
from hack.local import ours
from tests.support.eventually import eventually
from tests.support.http import get
from tests.support.products import install, running

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ACCOUNTS = "/api/v1/namespaces/runtime-system/serviceaccounts"
NEEDED = [
    ("runtime-api", "list", "", "nodes"),
    ("runtime-api", "watch", "", "nodes"),
]
REFUSED = [
    ("runtime-api", "delete", "", "nodes"),
    ("runtime-api", "get", "", "secrets"),
    ("runtime-api", "create", "", "pods"),
    ("runtime-api", "create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    ("controller", "get", "", "secrets"),
    ("controller", "list", "", "nodes"),
    ("controller", "create", "", "pods/exec"),
]


async def is_allowed(admin: Admin, account: str, verb: str, group: str, resource: str) -> bool:
    name, _, part = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": part}
    user = f"system:serviceaccount:runtime-system:{account}"
    review = await admin.create(REVIEWS, {"spec": {"user": user, "resourceAttributes": attributes}})
    return bool(review["status"]["allowed"])


@pytest.mark.parametrize(("account", "verb", "group", "resource"), NEEDED)
async def test_an_account_may_do_what_its_program_needs(
    installed: ControlPlane, account: str, verb: str, group: str, resource: str
) -> None:
    assert await is_allowed(installed.admin, account, verb, group, resource)


@pytest.mark.parametrize(("account", "verb", "group", "resource"), REFUSED)
async def test_an_account_may_do_nothing_else(
    installed: ControlPlane, account: str, verb: str, group: str, resource: str
) -> None:
    assert not await is_allowed(installed.admin, account, verb, group, resource)


async def test_the_api_works_with_its_own_account(installed: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = str(installed.layout.kubeconfig("runtime-api"))
    async with running(ours.RUNTIME_API, tmp_path, {"kubeconfig": kubeconfig}) as api:

        async def health() -> dict[str, Any]:
            _, body = await get(f"{api.url}/api/v1/health")
            data: dict[str, Any] = body["data"]
            return data

        seen = await eventually(health, lambda data: "nodeCount" in data)
    assert (seen["nodeCount"], seen["readyNodeCount"], seen["totalGPUCapacity"]) == (4, 4, 32)
    assert seen["kubernetesVersion"].startswith("v1.36.")


@pytest.mark.parametrize("program", ours.PROGRAMS, ids=lambda program: program.name)
async def test_a_program_follows_its_renewed_token_without_a_restart(
    installed: ControlPlane, tmp_path: Path, program: ours.Program
) -> None:
    """The account is made anew, so the old token is refused and its file holds a new one."""
    kubeconfig = str(installed.layout.kubeconfig(program.name))
    async with running(program, tmp_path, {"kubeconfig": kubeconfig}) as product:

        async def refusals() -> list[str]:
            _, metrics = await get(f"{product.url}/metrics")
            return re.findall(r'^rest_client_requests_total\{code="401".*$', metrics, re.MULTILINE)

        async def is_ready() -> bool:
            return (await get(f"{product.url}/readyz"))[0] == 200

        await installed.admin.delete(f"{ACCOUNTS}/{program.name}")
        await install(installed)
        await eventually(refusals)
        await eventually(is_ready)
