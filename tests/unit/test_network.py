"""Tests of the NetworkPolicies of the product's namespace: each program reaches what it calls."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from hack.local.state_dir import ROOT

LABEL = "app.kubernetes.io/name"
FOLDERS = (
    "network",
    "controller",
    "apiserver",
    "activator",
    "credentials",
    "nats",
    "resultstore",
)
# 6443 is the port of kubeadm and kind, 8443 of minikube, 16443 of MicroK8s.
API_SERVER_PORTS = (443, 6443, 8443, 16443)
PROGRAMS = ("controller-manager", "runtime-api", "activator", "credentials")
CALLS = [
    ("runtime-api", "nats", 4222),
    ("activator", "nats", 4222),
    ("result-store", "nats", 4222),
    ("activator", "runtime-api", 8080),
    ("nats", "nats", 6222),
]


def policies() -> Iterator[dict[str, Any]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / "manifests" / folder).glob("*.yaml")):
            for each in yaml.safe_load_all(path.read_text()):
                if each.get("kind") == "NetworkPolicy":
                    yield each["spec"]


def selects(selector: Mapping[str, Any], program: str) -> bool:
    """Return whether the selector matches; supports the kinds of shipped selectors."""
    wanted = selector.get("matchLabels", {}).get(LABEL, program)
    listed = [each["values"] for each in selector.get("matchExpressions", ())]
    return wanted == program and all(program in values for values in listed)


def rules(program: str, way: str) -> Iterator[dict[str, Any]]:
    for each in policies():
        if selects(each["podSelector"], program):
            yield from each.get(way, ())


def may_send(program: str, port: int, protocol: str = "TCP", to: str | None = None) -> bool:
    """Return whether a program may send to the port of the program `to`; None means any host."""
    return any(
        {"protocol": protocol, "port": port} in rule["ports"]
        and ("to" not in rule or (to is not None and is_meant(rule["to"], to)))
        for rule in rules(program, "egress")
    )


def may_take(program: str, port: int, sender: str) -> bool:
    return any(
        {"protocol": "TCP", "port": port} in rule["ports"] and is_meant(rule["from"], sender)
        for rule in rules(program, "ingress")
    )


def is_meant(peers: list[dict[str, Any]], program: str) -> bool:
    own = [each["podSelector"] for each in peers if set(each) == {"podSelector"}]
    return any(selects(each, program) for each in own)


@pytest.mark.parametrize(("caller", "called", "port"), CALLS)
def test_programs_may_connect_to_each_other(caller: str, called: str, port: int) -> None:
    assert may_send(caller, port, to=called)
    assert may_take(called, port, caller)


@pytest.mark.parametrize("program", ["runtime-api", "result-store"])
def test_programs_with_a_dsn_may_connect_to_postgresql_anywhere(program: str) -> None:
    assert may_send(program, 5432)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("port", API_SERVER_PORTS)
def test_the_api_server_is_reached_on_whatever_port_it_listens(program: str, port: int) -> None:
    assert may_send(program, port)


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize("port", [53, 5353])
def test_dns_is_allowed_to_any_name_server(protocol: str, port: int) -> None:
    assert may_send("runtime-api", port, protocol), "it may be on the node, or behind 5353"


def test_other_programs_may_not_connect_to_postgresql() -> None:
    assert not any(may_send(program, 5432) for program in ("controller-manager", "activator"))
