"""Tests of the subset match: a live object may have more fields than the desired ones."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.subset import contains_desired

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)

CONTAINER = {"name": "main", "image": "one"}


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{**CONTAINER, **container}]}}


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": {}}, {"a": {}}),
        ({"args": ["x", "y"]}, {"args": ["x", "y"]}),
        ({"rules": [{"a": 1, "b": 2}]}, {"rules": [{"a": 1}]}),
        ({"metadata": {"finalizers": ()}}, {"metadata": {"finalizers": []}}),
    ],
)
def test_additional_live_fields_are_not_a_difference(live: object, desired: object) -> None:
    assert contains_desired(live, desired)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({}, {"a": 1}),
        ({"a": 2}, {"a": 1}),
        ({"a": None}, {"a": {}}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": []}, {"a": {}}),
        ({"a": {}}, {"a": []}),
        ({"args": ["x", "y"]}, {"args": ["x"]}),
        ({"args": ["y", "x"]}, {"args": ["x", "y"]}),
        ({"tolerations": [{"key": "a"}, {"key": "b"}]}, {"tolerations": [{"key": "a"}]}),
        ({"spec": {"selector": {"a": "1", "b": "2"}}}, {"spec": {"selector": {"a": "1"}}}),
        ({"spec": {"podSelector": {"matchLabels": {}}}}, {"spec": {"podSelector": {}}}),
        ({"spec": {"nodeSelector": {"a": "1", "b": ""}}}, {"spec": {"nodeSelector": {"a": "1"}}}),
    ],
)
def test_a_different_live_value_is_a_difference(live: object, desired: object) -> None:
    assert not contains_desired(live, desired)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        (pod(), pod()),
        (pod(imagePullPolicy="Always"), pod()),
        (
            {"spec": {"containers": [{"name": "sidecar"}, CONTAINER]}},
            {"spec": {"containers": [CONTAINER]}},
        ),
        (
            pod(env=[{"name": "A", "value": "1"}, {"name": "B"}]),
            pod(env=[{"name": "B"}, {"name": "A", "value": "1"}]),
        ),
        (
            pod(volumeMounts=[{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]),
            pod(volumeMounts=[{"name": "a", "mountPath": "/b"}]),
        ),
        (
            pod(
                ports=[
                    {"containerPort": 53, "protocol": "UDP", "name": "dns-udp"},
                    {"containerPort": 53, "protocol": "TCP", "name": "dns"},
                ]
            ),
            pod(ports=[{"containerPort": 53, "protocol": "TCP", "name": "dns"}]),
        ),
        (
            {"spec": {"ports": [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]}},
            {"spec": {"ports": [{"port": 2, "protocol": "TCP"}]}},
        ),
        (
            {"metadata": {"ownerReferences": ({"uid": "a"}, {"uid": "b", "controller": True})}},
            {"metadata": {"ownerReferences": [{"uid": "b", "controller": True}]}},
        ),
    ],
)
def test_a_list_with_merge_keys_may_have_additional_live_entries(
    live: object, desired: object
) -> None:
    assert contains_desired(live, desired)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        (pod(), {"spec": {"containers": [{"name": "other"}]}}),
        (pod(), pod(image="two")),
        (pod(env=[{"name": "A", "value": "2"}]), pod(env=[{"name": "A", "value": "1"}])),
        (pod(env=[{"name": "A", "value": "2"}]), pod(env=[{"name": "B", "value": "2"}])),
        (pod(env=[{"name": "A"}, {"name": "A"}]), pod(env=[{"name": "A"}])),
        (
            pod(ports=[{"containerPort": 53, "protocol": "UDP"}]),
            pod(ports=[{"containerPort": 53, "protocol": "TCP"}]),
        ),
        (
            {"metadata": {"ownerReferences": [{"uid": "a", "controller": False}]}},
            {"metadata": {"ownerReferences": [{"uid": "a", "controller": True}]}},
        ),
    ],
)
def test_an_entry_with_a_merge_key_is_compared_with_the_entry_of_the_same_key(
    live: object, desired: object
) -> None:
    assert not contains_desired(live, desired)


def test_the_rules_of_a_network_policy_must_be_equal() -> None:
    first, second = {"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}
    desired = {"spec": {"ingress": [{"ports": [first]}]}}
    assert contains_desired({"spec": {"ingress": [{"ports": [first]}]}}, desired)
    assert not contains_desired({"spec": {"ingress": [{"ports": [first, second]}]}}, desired)
    assert not contains_desired({"spec": {"ingress": [{"ports": [first]}, {}]}}, desired)


@given(VALUES)
def test_every_value_contains_itself(value: object) -> None:
    assert contains_desired(copy.deepcopy(value), value)


@given(VALUES, VALUES, st.text(max_size=3))
def test_an_additional_field_does_not_change_the_result(
    value: object, other: object, name: str
) -> None:
    assert contains_desired({"other": other, name + "!": value}, {name + "!": value})


@given(VALUES, VALUES)
def test_two_values_that_contain_each_other_are_equal(first: object, second: object) -> None:
    if contains_desired(first, second) and contains_desired(second, first):
        assert first == second
