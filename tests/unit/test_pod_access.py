"""Tests of in-cluster access: adapters find the cluster by the files that Kubernetes mounts."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio.config import incluster_config

from apiserver.kube import kubeconfig
from controller.runtime.client import kubeconfig as controller_kubeconfig
from controller.runtime.errors import KubeconfigError
from hack.cluster.certificates import certificate_authority
from shared.config.loader import ConfigurationError

Load = Callable[[], Awaitable[Any]]
BOTH = pytest.mark.parametrize(
    "load",
    [controller_kubeconfig.load_in_cluster, kubeconfig.load_in_cluster],
    ids=["controller", "apiserver"],
)


@pytest.fixture
def account_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the service account's folder in a pod of a cluster at 10.96.0.1."""
    token, trusted = tmp_path / "token", certificate_authority(tmp_path).certificate_path
    token.write_text("first\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(trusted))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


@BOTH
async def test_a_pod_calls_its_cluster_with_the_token_of_its_account(
    load: Load, account_dir: Path
) -> None:
    access = await load()
    assert (access.server, access.authorization) == ("https://10.96.0.1:443", "Bearer first")


@BOTH
async def test_a_renewed_token_is_used(load: Load, account_dir: Path) -> None:
    await load()
    (account_dir / "token").write_text("second\n")
    assert (await load()).authorization == "Bearer second"


@BOTH
async def test_an_ipv6_address_of_the_api_server_is_used(
    load: Load, account_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert (await load()).server == "https://[fd00::1]:443"


@BOTH
async def test_a_missing_account_file_is_a_configuration_error(
    load: Load, account_dir: Path
) -> None:
    (account_dir / "token").unlink()
    with pytest.raises((KubeconfigError, ConfigurationError), match="the pod's service account"):
        await load()


@pytest.mark.parametrize(
    "module", [controller_kubeconfig, kubeconfig], ids=["controller", "apiserver"]
)
async def test_the_pod_account_is_used_without_a_kubeconfig(module: Any, tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBECONFIG": "/absent"}
    assert module.config_loader("", environment, tmp_path) is module.load_in_cluster
