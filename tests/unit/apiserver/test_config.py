"""Tests of the API's configuration keys, as operators know them."""

from pathlib import Path

from apiserver.config import Config, NamespacesConfig, NATSConfig
from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.loader import config_keys, load_config


def test_every_key_has_the_default_of_the_contract() -> None:
    assert {key.name: key.default for key in config_keys(Config)} == {
        "httpAddr": "127.0.0.1:8080",
        "kubeMode": "required",
        "kubeconfig": '""',
        "reportInterval": "1m",
        "logLevel": "info",
        "requestTimeout": "30s",
        "maxSeedReplicas": "1000",
        "auth.tokensFile": '""',
        "auth.allowAnonymous": "false",
        "namespaces.stock": "runtime-stock",
        "namespaces.instance": "runtime-instance",
        "namespaces.system": "runtime-system",
        "specs": "{}",
        "nats.url": '""',
        "nats.user": '""',
        "nats.passwordFile": '""',
        "nats.names.prefix": "runtime.serverless",
        "nats.names.invocationsStream": "RUNTIME_INVOCATIONS",
        "nats.names.resultsStream": "RUNTIME_RESULTS",
        "nats.names.deadLetterStream": "RUNTIME_DLQ",
        "nats.names.recordBucket": "runtime-invocations",
        "nats.names.workerBucket": "runtime-workers",
        "nats.names.bodyBucket": "runtime-bodies",
        "nats.limits.replicas": "1",
        "nats.limits.recordRetention": "72h",
        "nats.limits.resultRetention": "72h",
        "nats.limits.deadLetterRetention": "336h",
        "nats.limits.maxQueuedMessages": "1000000",
        "nats.limits.maxStreamBytes": "1073741824",
        "maxInFlightBytes": "268435456",
        "resultStore.dsnFile": '""',
    }


def test_every_key_is_described() -> None:
    assert [key.name for key in config_keys(Config) if not key.description.endswith(".")] == []


def test_every_key_of_a_config_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    path.write_text("""
        httpAddr: :9090
        kubeMode: off
        kubeconfig: /etc/kubeconfig
        reportInterval: 10s
        logLevel: debug
        requestTimeout: 5s
        maxSeedReplicas: 50
        namespaces: {stock: a, instance: b, system: c}
        nats: {url: "nats://q:4222", user: api, passwordFile: /run/password}
    """)
    assert load_config(Config, path, {}) == Config(
        http_addr=Address("", 9090),
        kube_mode="off",
        kubeconfig="/etc/kubeconfig",
        report_interval=Duration(10),
        log_level="debug",
        request_timeout=Duration(5),
        max_seed_replicas=50,
        namespaces=NamespacesConfig(stock="a", instance="b", system="c"),
        nats=NATSConfig(
            url="nats://q:4222",
            user="api",
            password_file="/run/password",  # noqa: S106 - a path
        ),
    )
