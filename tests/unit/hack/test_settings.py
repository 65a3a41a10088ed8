"""Ports are kept where they can be and replaced where they cannot."""

import random
from pathlib import Path

import pytest

from hack.cluster.nodes import Fleet
from hack.local import settings
from hack.local.settings import PREFERRED_PORTS, Settings, with_usable_ports


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Ports that somebody listens on."""
    ports: set[int] = set()
    for module in ("hack.local.settings", "hack.cluster.ports"):
        monkeypatch.setattr(f"{module}.is_free", lambda port: port not in ports)
    return ports


def choose(runs: set[str]) -> Settings:
    return with_usable_ports(Settings(), runs.__contains__, random.Random(1))


def test_free_ports_are_the_preferred_ones(taken: set[int]) -> None:
    assert choose(set()).ports == PREFERRED_PORTS


def test_a_taken_port_is_replaced_and_the_others_stay(taken: set[int]) -> None:
    taken.add(8080)
    ports = choose(set()).ports
    assert ports["runtime-api"] != 8080
    assert {**ports, "runtime-api": 8080} == PREFERRED_PORTS


def test_a_port_that_our_own_process_holds_is_kept(taken: set[int]) -> None:
    taken |= {8080, 4222, 8222}
    assert choose({"runtime-api", "nats-server"}).ports == PREFERRED_PORTS


def test_settings_are_what_was_saved_and_have_every_port(tmp_path: Path) -> None:
    settings.save(tmp_path, Settings("kind", Fleet(2, 3), {"etcd": 1}))
    expected = Settings("kind", Fleet(2, 3), {**PREFERRED_PORTS, "etcd": 1})
    assert settings.load(tmp_path) == expected


def test_an_empty_folder_has_no_settings(tmp_path: Path) -> None:
    assert settings.load(tmp_path) is None
