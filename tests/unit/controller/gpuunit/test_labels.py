"""Tests of labels: they distinguish the children of a unit from all other objects."""

from typing import Any

from controller.gpuunit.labels import child_labels, child_metadata, extra_pod_labels, pod_selector
from shared.v1alpha1 import wellknown
from tests.support.builders.gpu_units import (
    INSTANCE_NAMESPACE,
    STOCK_NAMESPACE,
    new_unit,
    unit_settings,
)

CHILD_LABELS = {
    "runtime.lokiwager.io/unit": "one",
    "app.kubernetes.io/name": "gpu-unit",
    "app.kubernetes.io/managed-by": "gpu-runtime",
}


def test_the_labels_of_a_child_name_its_unit_and_its_manager() -> None:
    assert child_labels(new_unit()) == CHILD_LABELS


def test_a_child_of_a_pool_s_unit_names_the_pool() -> None:
    unit = new_unit(labels={wellknown.POOL_LABEL: "big"})
    assert child_labels(unit) == {**CHILD_LABELS, "runtime.lokiwager.io/pool": "big"}


def test_the_selector_has_only_the_unit_label() -> None:
    unit = new_unit(labels={wellknown.POOL_LABEL: "big", "team": "a"})
    assert pod_selector(unit) == {"runtime.lokiwager.io/unit": "one"}


def test_user_labels_are_added_if_they_are_not_reserved() -> None:
    user_labels = {"team": "a", "sim.local/mode": "slow", "empty": ""}
    reserved = {
        wellknown.UNIT_LABEL: "x",
        wellknown.CLAIMED_LABEL: "true",
        wellknown.MANAGED_BY_LABEL: "gpu-runtime",
        wellknown.APP_NAME_LABEL: "x",
    }
    assert (
        extra_pod_labels(new_unit(labels={**user_labels, **reserved}), unit_settings())
        == user_labels
    )


def test_the_pods_of_a_worker_name_the_function() -> None:
    worker: dict[str, Any] = {"labels": {"team": "a"}, "serverless": {"requestID": "echo"}}
    added = {"team": "a", "runtime.lokiwager.io/function": "echo"}
    assert extra_pod_labels(new_unit(**worker), unit_settings()) == added
    assert extra_pod_labels(new_unit(namespace=STOCK_NAMESPACE, **worker), unit_settings()) == {
        "team": "a"
    }


def test_a_child_is_owned_by_its_unit() -> None:
    assert child_metadata(new_unit(), "unit-one") == {
        "namespace": INSTANCE_NAMESPACE,
        "name": "unit-one",
        "labels": CHILD_LABELS,
        "ownerReferences": [
            {
                "apiVersion": "runtime.lokiwager.io/v1alpha1",
                "kind": "GPUUnit",
                "name": "one",
                "uid": "uid-of-one",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
