"""Tests of the Deployment of a unit: it keeps one pod and the pod's resources."""

from controller.gpuunit.labels import child_metadata
from controller.gpuunit.resources.deployment import deployment_manifest
from controller.gpuunit.resources.pod import pod_template
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit, unit_settings


def test_an_active_unit_keeps_its_pod_until_the_next_one_runs() -> None:
    unit, labels = new_unit(), {"team": "a"}
    assert deployment_manifest(unit, unit_settings(), labels, stop_old_pod_first=False) == {
        "metadata": child_metadata(unit, "unit-one"),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": {"runtime.lokiwager.io/unit": "one"}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": pod_template(unit, unit_settings(), labels),
        },
    }


def test_a_unit_that_stops_its_old_pod_first_has_max_unavailable_one() -> None:
    before = deployment_manifest(new_unit(), unit_settings(), {}, stop_old_pod_first=False)["spec"]
    after = deployment_manifest(new_unit(), unit_settings(), {}, stop_old_pod_first=True)["spec"]
    assert after.pop("strategy")["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 1}
    del before["strategy"]
    assert after == before


def test_stock_has_the_recreate_strategy() -> None:
    stock = deployment_manifest(
        new_unit(namespace=STOCK_NAMESPACE), unit_settings(), {}, stop_old_pod_first=False
    )
    assert stock["spec"]["strategy"] == {"type": "Recreate"}


def test_long_deployment_names_are_shortened() -> None:
    body = deployment_manifest(new_unit("a" * 63), unit_settings(), {}, stop_old_pod_first=False)
    assert len(body["metadata"]["name"]) == 63
