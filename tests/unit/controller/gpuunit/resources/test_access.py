"""The address of a unit is that of its primary port."""

from typing import Any

import pytest

from controller.gpuunit.resources.access import service_url
from tests.support.builders.gpu_units import new_unit, unit_settings

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


def test_without_ports_there_is_no_address() -> None:
    assert service_url(new_unit(), unit_settings()) == ""
