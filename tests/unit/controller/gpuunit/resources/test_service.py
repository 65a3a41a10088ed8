"""The Service of a unit has all its ports, and there is none without ports."""

import pytest

from controller.gpuunit.labels import child_metadata
from controller.gpuunit.resources.service import service_manifest
from tests.support.builders.gpu_units import FULL_SPEC, new_unit


def test_all_ports_are_served_under_their_own_numbers() -> None:
    unit = new_unit(**FULL_SPEC)
    assert service_manifest(unit) == {
        "metadata": child_metadata(unit, "unit-one"),
        "spec": {
            "type": "ClusterIP",
            "selector": {"runtime.lokiwager.io/unit": "one"},
            "ports": [
                {"name": "http", "port": 8000, "targetPort": 8000, "protocol": "TCP"},
                {"name": "stats", "port": 9000, "targetPort": 9000, "protocol": "UDP"},
            ],
        },
    }


@pytest.mark.parametrize("template", [None, {}, {"ports": []}])
def test_without_ports_there_is_no_service(template: dict[str, object] | None) -> None:
    assert service_manifest(new_unit(template=template)) is None
