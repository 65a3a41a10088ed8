"""Tests of the validation of resources: every invalid field is reported."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.k8s.pod import Toleration
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import UnitResources
from shared.v1alpha1.validation.resources import resource_problems

AMOUNTS = st.from_regex(r"[-+]?[0-9.]{0,4}([KMGi]{1,2}|[munk]|e[0-9]{1,3})?", fullmatch=True)


def new_resources(**fields: Any) -> UnitResources:
    return msgspec.structs.replace(UnitResources(spec_name="g1.1", memory="16Gi"), **fields)


def paths(**fields: Any) -> list[str]:
    return [problem.path for problem in resource_problems(new_resources(**fields))]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"memory": "0.5Gi", "cpu": "500m", "shm_size": "1e9"},
        {"memory": "1n", "cpu": "+1"},
        {"gpu_resource": "amd.com/gpu"},
        {"node_selector": {"zone": "", "example.com/kind": "A-1"}},
        {"tolerations": (Toleration(operator="Exists"), Toleration(key="a"))},
        {"tolerations": (Toleration(key="a", operator="Equal", value="b", effect="NoSchedule"),)},
        {"tolerations": (Toleration(key="a", effect="NoExecute", toleration_seconds=-1),)},
    ],
)
def test_valid_resources_are_accepted(fields: dict[str, Any]) -> None:
    assert resource_problems(new_resources(**fields)) == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"memory": ""}, "spec.memory"),
        ({"memory": "12 GB"}, "spec.memory"),
        ({"memory": "0"}, "spec.memory"),
        ({"memory": "-1Gi"}, "spec.memory"),
        ({"memory": "9e99"}, "spec.memory"),
        ({"cpu": "two"}, "spec.cpu"),
        ({"cpu": "0m"}, "spec.cpu"),
        ({"shm_size": "0Gi"}, "spec.shmSize"),
        ({"gpu_resource": "gpu"}, "spec.gpuResource"),
        ({"gpu_resource": "x.kubernetes.io/gpu"}, "spec.gpuResource"),
        ({"node_selector": {"a b": "c"}}, "spec.nodeSelector"),
        ({"node_selector": {"a": "b c"}}, "spec.nodeSelector['a']"),
        ({"tolerations": (Toleration(),)}, "spec.tolerations[0].operator"),
        ({"tolerations": (Toleration(key="a", operator="Like"),)}, "spec.tolerations[0].operator"),
        ({"tolerations": (Toleration(key="a b"),)}, "spec.tolerations[0].key"),
        ({"tolerations": (Toleration(key="a", value="b c"),)}, "spec.tolerations[0].value"),
        (
            {"tolerations": (Toleration(key="a", operator="Exists", value="b"),)},
            "spec.tolerations[0].value",
        ),
        ({"tolerations": (Toleration(key="a", effect="Never"),)}, "spec.tolerations[0].effect"),
        (
            {"tolerations": (Toleration(key="a", toleration_seconds=5),)},
            "spec.tolerations[0].effect",
        ),
    ],
)
def test_invalid_resources_are_refused(fields: dict[str, Any], path: str) -> None:
    assert paths(**fields) == [path]


def test_all_resource_problems_are_listed_in_field_order() -> None:
    invalid = {"shm_size": "x", "node_selector": {"-": "-"}, "gpu_resource": "g", "memory": "x"}
    assert paths(cpu="x", tolerations=(Toleration(),), **invalid) == [
        "spec.cpu",
        "spec.memory",
        "spec.gpuResource",
        "spec.nodeSelector",
        "spec.nodeSelector['-']",
        "spec.tolerations[0].operator",
        "spec.shmSize",
    ]


def test_a_resource_problem_names_the_accepted_format() -> None:
    (problem,) = resource_problems(new_resources(memory="12 GB"))
    assert problem.text == (
        'spec.memory: "12 GB" is not a Kubernetes quantity such as 64Gi, 1.5G, 500m or 1e3,'
        " at most 2^63-1"
    )


@given(AMOUNTS.filter(bool))
def test_memory_is_accepted_only_if_it_is_a_quantity_above_zero(text: str) -> None:
    try:
        is_valid = Quantity.parse(text) > Quantity(0)
    except ValueError:
        is_valid = False
    assert (paths(memory=text) == []) is is_valid
