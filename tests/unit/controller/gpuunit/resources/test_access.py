"""The address of a unit is that of its primary port."""

from typing import Any

import pytest

from controller.gpuunit.resources.access import access_url
from tests.support.builders.gpu_units import a_unit, settings

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
    assert access_url(a_unit(template=TEMPLATE, access=access), settings()) == url


def test_without_ports_there_is_no_address() -> None:
    assert access_url(a_unit(), settings()) == ""
