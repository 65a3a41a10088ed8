"""Tests of the Service of a unit: it has all ports, and does not exist without ports."""

from typing import Any

import pytest

from controller.gpuunit.labels import child_metadata
from controller.gpuunit.resources.service import service_manifest, service_url
from tests.support.builders.gpu_units import FULL_SPEC, new_unit, unit_settings


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
def test_a_unit_without_ports_has_no_service(template: dict[str, object] | None) -> None:
    assert service_manifest(new_unit(template=template)) is None


TEMPLATE = {"ports": [{"name": "http", "port": 8000}, {"name": "grpc", "port": 9000}]}
HOST = "unit-one.runtime-instance.svc.cluster.local"


@pytest.mark.parametrize(
    ("access", "url"),
    [
        (None, f"http://{HOST}:8000"),
        ({"primaryPort": "grpc"}, f"http://{HOST}:9000"),
        ({"primaryPort": "grpc", "scheme": "grpc"}, f"grpc://{HOST}:9000"),
        ({"scheme": "https"}, f"https://{HOST}:8000"),
        ({"primaryPort": "no-such-port"}, ""),
    ],
)
def test_the_primary_port_is_the_named_one_or_the_first(
    access: dict[str, Any] | None, url: str
) -> None:
    assert service_url(new_unit(template=TEMPLATE, access=access), unit_settings()) == url


def test_a_unit_without_ports_has_no_url() -> None:
    assert service_url(new_unit(), unit_settings()) == ""
