"""Tests of the validation of units: every invalid field of workload and access is reported."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.v1alpha1.gpuunit import GPUUnitSpec, UnitAccess
from shared.v1alpha1.template import EnvVar, EnvVarSource, Port, SecretKeyRef, WorkloadTemplate
from shared.v1alpha1.validation.unit import access_problems, workload_problems

HTTP = Port(name="http", port=80)


def unit(**fields: Any) -> GPUUnitSpec:
    spec = GPUUnitSpec(spec_name="g1.1", memory="16Gi", image="example/user:1")
    return msgspec.structs.replace(spec, **fields)


def with_envs(*envs: EnvVar) -> GPUUnitSpec:
    return unit(template=WorkloadTemplate(envs=envs))


def with_ports(*ports: Port) -> GPUUnitSpec:
    return unit(template=WorkloadTemplate(ports=ports))


def secret(name: str, key: str) -> EnvVarSource:
    return EnvVarSource(secret_key_ref=SecretKeyRef(name=name, key=key))


@pytest.mark.parametrize(
    "spec",
    [
        unit(),
        unit(image="localhost:5000/a/b@sha256:0123"),
        unit(image_pull_secrets=("registry", "a.b")),
        with_envs(EnvVar(name="A"), EnvVar(name="a b", value="c=d")),
        with_envs(EnvVar(name="A", value_from=secret("keys", ".token"))),
        with_ports(HTTP, Port(name="dns", port=53), Port(name="d", port=53, protocol="UDP")),
    ],
)
def test_a_valid_workload_is_accepted(spec: GPUUnitSpec) -> None:
    assert workload_problems(spec) == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (unit(image=""), "spec.image"),
        (unit(image=" "), "spec.image"),
        (unit(image="a b"), "spec.image"),
        (unit(image="a\n"), "spec.image"),
        (unit(image="a\x00"), "spec.image"),
        (unit(image_pull_secrets=("Registry",)), "spec.imagePullSecrets[0]"),
        (unit(image_pull_secrets=("a", "a")), "spec.imagePullSecrets[1]"),
        (with_envs(EnvVar(name="A=")), "spec.template.envs[0].name"),
        (with_envs(EnvVar(name="ä")), "spec.template.envs[0].name"),
        (with_envs(EnvVar(name="A"), EnvVar(name="A")), "spec.template.envs[1].name"),
        (
            with_envs(EnvVar(name="A", value="b", value_from=secret("keys", "a"))),
            "spec.template.envs[0]",
        ),
        (
            with_envs(EnvVar(name="A", value_from=secret("Keys", "a"))),
            "spec.template.envs[0].valueFrom.secretKeyRef.name",
        ),
        (
            with_envs(EnvVar(name="A", value_from=secret("keys", ".."))),
            "spec.template.envs[0].valueFrom.secretKeyRef.key",
        ),
        (with_ports(Port(name="HTTP", port=80)), "spec.template.ports[0].name"),
        (with_ports(Port(name="a" * 16, port=80)), "spec.template.ports[0].name"),
        (with_ports(HTTP, Port(name="http", port=81)), "spec.template.ports[1].name"),
        (with_ports(HTTP, Port(name="web", port=80)), "spec.template.ports[1].port"),
    ],
)
def test_an_invalid_workload_is_refused_with_the_field(spec: GPUUnitSpec, path: str) -> None:
    assert [problem.path for problem in workload_problems(spec)] == [path]


def test_all_problems_of_a_workload_are_listed_in_field_order() -> None:
    template = WorkloadTemplate(envs=(EnvVar(name="="),), ports=(Port(name="-", port=1),))
    spec = unit(image="", image_pull_secrets=("-",), template=template)
    assert [problem.path for problem in workload_problems(spec)] == [
        "spec.image",
        "spec.imagePullSecrets[0]",
        "spec.template.envs[0].name",
        "spec.template.ports[0].name",
    ]


@given(st.text(min_size=1, alphabet="xyz"))
def test_possible_secret_values_are_never_in_the_message(end: str) -> None:
    value = f"s3cret{end}"
    spec = with_envs(
        EnvVar(name=f"TOKEN={value}", value=value),
        EnvVar(name=f"TOKEN={value}", value=value, value_from=secret("-", "/")),
    )
    problems = workload_problems(spec)
    assert len(problems) == 6
    assert not [problem for problem in problems if "s3cret" in repr(problem)]


@pytest.mark.parametrize(
    "access", [None, UnitAccess(), UnitAccess(primary_port="http"), UnitAccess(scheme="git+ssh")]
)
def test_access_to_a_port_of_the_unit_is_accepted(access: UnitAccess | None) -> None:
    assert access_problems(unit(access=access, template=WorkloadTemplate(ports=(HTTP,)))) == []


def test_a_unit_without_access_needs_no_ports() -> None:
    assert access_problems(unit()) == []


@pytest.mark.parametrize(
    ("access", "ports", "text"),
    [
        (UnitAccess(), (), "spec.access: needs a port in spec.template.ports"),
        (
            UnitAccess(primary_port="grpc"),
            (HTTP, Port(name="web", port=81)),
            'spec.access.primaryPort: "grpc" is not a port of the unit; '
            "its ports are 'http', 'web'",
        ),
        (
            UnitAccess(scheme="http://"),
            (HTTP,),
            'spec.access.scheme: "http://" is not a URL scheme:'
            " a letter, then letters, digits, +, - and ., such as https",
        ),
    ],
)
def test_access_without_a_matching_port_or_scheme_is_refused(
    access: UnitAccess, ports: tuple[Port, ...], text: str
) -> None:
    spec = unit(access=access, template=WorkloadTemplate(ports=ports))
    assert [problem.text for problem in access_problems(spec)] == [text]


def test_access_without_a_template_is_refused() -> None:
    assert [problem.path for problem in access_problems(unit(access=UnitAccess()))] == [
        "spec.access"
    ]
