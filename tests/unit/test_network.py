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
            for manifest in yaml.safe_load_all(path.read_text()):
                if manifest.get("kind") == "NetworkPolicy":
                    yield manifest["spec"]


def selects(selector: Mapping[str, Any], program: str) -> bool:
    """Return whether the selector matches; supports only the forms of the shipped selectors."""
    name = selector.get("matchLabels", {}).get(LABEL, program)
    listed = [expression["values"] for expression in selector.get("matchExpressions", ())]
    return name == program and all(program in values for values in listed)


def rules(program: str, direction: str) -> Iterator[dict[str, Any]]:
    for policy in policies():
        if selects(policy["podSelector"], program):
            yield from policy.get(direction, ())


def may_send(program: str, port: int, protocol: str = "TCP", to: str | None = None) -> bool:
    """Return whether a program may send to the port of the program `to`; None means any host."""
    return any(
        {"protocol": protocol, "port": port} in rule["ports"]
        and ("to" not in rule or (to is not None and matches_a_peer(rule["to"], to)))
        for rule in rules(program, "egress")
    )


def may_receive(program: str, port: int, sender: str) -> bool:
    return any(
        {"protocol": "TCP", "port": port} in rule["ports"] and matches_a_peer(rule["from"], sender)
        for rule in rules(program, "ingress")
    )


def matches_a_peer(peers: list[dict[str, Any]], program: str) -> bool:
    selectors = [peer["podSelector"] for peer in peers if set(peer) == {"podSelector"}]
    return any(selects(selector, program) for selector in selectors)


@pytest.mark.parametrize(("caller", "called", "port"), CALLS)
def test_programs_may_connect_to_each_other(caller: str, called: str, port: int) -> None:
    assert may_send(caller, port, to=called)
    assert may_receive(called, port, caller)


@pytest.mark.parametrize("program", ["runtime-api", "result-store"])
def test_programs_with_a_dsn_may_connect_to_postgresql_anywhere(program: str) -> None:
    assert may_send(program, 5432)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("port", API_SERVER_PORTS)
def test_programs_may_connect_to_every_known_port_of_the_api_server(
    program: str, port: int
) -> None:
    assert may_send(program, port)


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize("port", [53, 5353])
def test_dns_is_allowed_to_any_name_server(protocol: str, port: int) -> None:
    assert may_send("runtime-api", port, protocol), (
        "the name server may be on the node, or listen on 5353"
    )


def test_other_programs_may_not_connect_to_postgresql() -> None:
    assert not any(may_send(program, 5432) for program in ("controller-manager", "activator"))
