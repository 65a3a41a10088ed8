"""Tests of kubeconfig: every kind of credentials works, and errors explain invalid files."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from apiserver.kube.kubeconfig import config_loader, load_kubeconfig
from shared.config.loader import ConfigurationError


def write(directory: Path, user: dict[str, Any], **cluster: Any) -> Path:
    """Write a kubeconfig with one cluster and one user, in JSON, which is valid YAML."""
    path = directory / "kubeconfig"
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    return path


async def test_a_token_becomes_a_bearer_authorization(tmp_path: Path) -> None:
    config = await load_kubeconfig(write(tmp_path, {"token": "secret"}))
    assert (config.server, config.authorization) == ("http://127.0.0.1:1", "Bearer secret")


async def test_a_token_file_is_read_at_each_load_without_its_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    path = write(tmp_path, {"tokenFile": "token"})  # relative to the kubeconfig
    first = await load_kubeconfig(path)
    (tmp_path / "token").write_text("second\n")
    second = await load_kubeconfig(path)
    assert (first.authorization, second.authorization) == ("Bearer first", "Bearer second")


async def test_an_exec_plugin_provides_the_token(tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1"
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": "plugged"}}
    command = {"command": sys.executable, "args": ["-c", f"print('{json.dumps(credential)}')"]}
    config = await load_kubeconfig(write(tmp_path, {"exec": {"apiVersion": version, **command}}))
    assert config.authorization == "Bearer plugged"


async def test_a_user_without_a_token_has_no_authorization_header(tmp_path: Path) -> None:
    config = await load_kubeconfig(write(tmp_path, {}))
    assert config.authorization is None


async def test_a_token_is_not_part_of_the_repr_of_a_config(tmp_path: Path) -> None:
    assert "secret" not in repr(await load_kubeconfig(write(tmp_path, {"token": "secret"})))


MALFORMED = (
    *("", "[", "5", "[]", "{}", "a: b", "current-context: c", "\x00"),
    "{current-context: c, contexts: [], clusters: [], users: []}",
    "{current-context: c, contexts: [{name: c, context: {}}], clusters: [], users: []}",
    "{current-context: c, contexts: 5, clusters: 5, users: 5}",
)


@pytest.mark.parametrize("text", MALFORMED)
async def test_a_malformed_kubeconfig_is_a_configuration_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=f"kubeconfig: {path}: cannot be used: "):
        await load_kubeconfig(path)


async def test_the_error_for_a_missing_kubeconfig_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"kubeconfig: .*absent: file not found"):
        await load_kubeconfig(tmp_path / "absent")


async def test_the_error_for_a_missing_token_file_names_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, {"tokenFile": "absent"})
    with pytest.raises(ConfigurationError, match="absent: file not found"):
        await load_kubeconfig(path)


async def test_an_invalid_certificate_authority_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("not a certificate")
    https = {"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt"}
    with pytest.raises(ConfigurationError, match="cannot be used"):
        await load_kubeconfig(write(tmp_path, {"token": "t"}, **https))


async def test_the_error_of_a_failed_exec_plugin_is_quoted(tmp_path: Path) -> None:
    plugin = {"apiVersion": "v1", "command": sys.executable, "args": ["-c", "exit('no login')"]}
    with pytest.raises(ConfigurationError, match="no login"):
        await load_kubeconfig(write(tmp_path, {"exec": plugin}))


async def test_a_configured_kubeconfig_takes_precedence_over_the_service_account(
    tmp_path: Path,
) -> None:
    load = config_loader(
        str(write(tmp_path, {})), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path
    )
    assert (await load()).server == "http://127.0.0.1:1"


async def test_the_variable_kubeconfig_names_the_default_file(tmp_path: Path) -> None:
    load = config_loader("", {"KUBECONFIG": f":/absent:{write(tmp_path, {})}"}, tmp_path)
    assert (await load()).server == "http://127.0.0.1:1"


def test_the_error_for_a_missing_cluster_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no cluster is configured: .*Set kubeconfig"):
        config_loader("", {}, tmp_path)
