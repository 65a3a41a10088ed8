"""Tests of the library's public interface: `controller.runtime`, without HTTP and kubeconfig."""

import inspect
import subprocess
import sys

import pytest

import controller.runtime
from hack.local.state_dir import ROOT

PRIVATE_MODULES = (
    "aiohttp",
    "kubernetes_asyncio",
    "controller.runtime.client.credentials",
    "controller.runtime.client.kubeconfig",
    "controller.runtime.client.rest",
    "controller.runtime.process.probes",
)


def test_exactly_the_imported_names_are_public() -> None:
    public = {
        name
        for name, value in vars(controller.runtime).items()
        if not (name.startswith("_") or inspect.ismodule(value))
    }
    assert set(controller.runtime.__all__) == public


@pytest.mark.parametrize("name", controller.runtime.__all__)
def test_a_public_name_is_not_defined_in_a_private_module(name: str) -> None:
    module = getattr(getattr(controller.runtime, name), "__module__", "")
    assert not module.startswith(PRIVATE_MODULES)


def test_the_package_ships_its_type_information() -> None:
    assert (ROOT / "controller/runtime/py.typed").is_file()
    assert "controller.runtime = py.typed" in (ROOT / "setup.cfg").read_text()


def test_each_module_can_be_imported_first() -> None:
    """Check for import cycles: the package imports its modules, and they must not import it."""
    code = (
        "import controller.runtime.leader.watchdog, controller.runtime as library; library.Manager"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
