"""Our processes' identities in the cluster: ServiceAccount tokens that `make up` renews."""

from pathlib import Path

import yaml

from hack.cluster import kubeconfig
from hack.cluster.atomic_files import write_private
from hack.local.kubectl import Kubectl

NAMESPACE = "runtime-system"
LIFETIME = "8760h"


async def write_identity(kubectl: Kubectl, account: str, home: Path) -> Path:
    """A kubeconfig for `account`; the processes follow the token file when it is renewed."""
    token = await kubectl.run(
        "create", "token", account, f"--namespace={NAMESPACE}", f"--duration={LIFETIME}"
    )
    token_path = home / "secrets" / f"token-{account}"
    write_private(token_path, token.strip())
    path = home / "kubeconfigs" / account
    write_private(path, kubeconfig.for_token_file(await access_of(kubectl), token_path))
    return path


async def access_of(kubectl: Kubectl) -> kubeconfig.Access:
    """The address and CA of the cluster that `kubectl` talks to."""
    text = await kubectl.run("config", "view", "--raw", "--minify", "--flatten")
    cluster = yaml.safe_load(text)["clusters"][0]["cluster"]
    return kubeconfig.Access(
        cluster["server"], kubeconfig.decoded(cluster["certificate-authority-data"])
    )
