"""The ServiceAccount tokens of the product's processes, which `make up` renews."""

from pathlib import Path

import yaml

from hack.cluster import kubeconfig
from hack.cluster.atomic_files import write_private_atomic
from hack.local.command import Kubectl

NAMESPACE = "runtime-system"
TOKEN_LIFETIME = "8760h"  # noqa: S105


async def write_account_kubeconfig(kubectl: Kubectl, account: str, state_dir: Path) -> Path:
    """Write a kubeconfig for `account`. Processes read its token file again after a renewal."""
    token = await kubectl.run(
        "create", "token", account, f"--namespace={NAMESPACE}", f"--duration={TOKEN_LIFETIME}"
    )
    token_path = state_dir / "secrets" / f"token-{account}"
    write_private_atomic(token_path, token.strip())
    path = state_dir / "kubeconfigs" / account
    write_private_atomic(
        path, kubeconfig.kubeconfig_for_token_file(await api_server_endpoint(kubectl), token_path)
    )
    return path


async def api_server_endpoint(kubectl: Kubectl) -> kubeconfig.ApiServerEndpoint:
    """Return the address and CA of the cluster that `kubectl` uses."""
    text = await kubectl.run("config", "view", "--raw", "--minify", "--flatten")
    cluster = yaml.safe_load(text)["clusters"][0]["cluster"]
    return kubeconfig.ApiServerEndpoint(
        cluster["server"], kubeconfig.base64_decode(cluster["certificate-authority-data"])
    )
