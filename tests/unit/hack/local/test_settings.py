"""Tests of the local settings: free ports are kept, and ports in use are replaced."""

import random
from pathlib import Path

import pytest

from hack.cluster.errors import ClusterError
from hack.cluster.nodes import Fleet
from hack.cluster.ports import NAMED_PORT_COUNT, PORT_RANGE_VARIABLE
from hack.local import settings
from hack.local.settings import PREFERRED_PORTS, LocalSettings, with_usable_ports


@pytest.fixture(autouse=True)
def _no_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the range of ports."""
    monkeypatch.delenv(PORT_RANGE_VARIABLE, raising=False)


@pytest.fixture
def used_ports(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the set of ports that count as in use."""
    ports: set[int] = set()
    for module in ("hack.local.settings", "hack.cluster.ports"):
        monkeypatch.setattr(f"{module}.is_port_free", lambda port: port not in ports)
    return ports


def settings_for(running: set[str]) -> LocalSettings:
    return with_usable_ports(LocalSettings(), running.__contains__, random.Random(1))


def test_free_preferred_ports_are_used(used_ports: set[int]) -> None:
    assert settings_for(set()).ports == PREFERRED_PORTS


def test_a_port_in_use_is_replaced_and_the_others_stay(used_ports: set[int]) -> None:
    used_ports.add(8080)
    ports = settings_for(set()).ports
    assert ports["runtime-api"] != 8080
    assert {**ports, "runtime-api": 8080} == PREFERRED_PORTS


def test_a_port_of_a_running_process_of_the_system_is_kept(used_ports: set[int]) -> None:
    used_ports |= {8080, 4222, 8222}
    assert settings_for({"runtime-api", "nats-server"}).ports == PREFERRED_PORTS


def test_the_first_ports_of_a_configured_range_are_preferred(
    used_ports: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PORT_RANGE_VARIABLE, "9000-9199")
    used_ports.add(9000)
    ports = settings_for(set()).ports
    assert ports["runtime-api"] in range(9000 + NAMED_PORT_COUNT, 9200)
    assert sorted(ports.values())[:-1] == list(range(9001, 9000 + len(PREFERRED_PORTS)))


@pytest.mark.parametrize("text", ["9000", "9000-", "9100-9000", "9000-9019", "65000-66000", "a-b"])
def test_an_invalid_port_range_is_refused_with_an_example(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PORT_RANGE_VARIABLE, text)
    with pytest.raises(ClusterError, match=r"such as 9000-9199"):
        LocalSettings()


def test_the_error_names_the_range_when_every_port_is_in_use(
    used_ports: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PORT_RANGE_VARIABLE, "9000-9199")
    used_ports.update(range(9000, 9200))
    with pytest.raises(ClusterError, match="all ports from 9020 to 9199 are in use"):
        settings_for(set())


def test_loaded_settings_are_the_saved_ones_with_all_ports(tmp_path: Path) -> None:
    settings.save_settings(tmp_path, LocalSettings("kind", Fleet(2, 3), {"etcd": 1}))
    expected = LocalSettings("kind", Fleet(2, 3), {**PREFERRED_PORTS, "etcd": 1})
    assert settings.load_settings(tmp_path) == expected


def test_an_empty_folder_has_no_settings(tmp_path: Path) -> None:
    assert settings.load_settings(tmp_path) is None
