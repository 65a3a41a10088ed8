"""Faults that appear only in images: files, modules and dependencies missing from the wheel."""

import asyncio
import configparser
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from hack.cluster.ports import HOST
from hack.local import product_processes
from hack.local.state_dir import ROOT
from tests.runner.ports import new_port
from tests.runner.run_directory import with_run_mark
from tests.support.checks.wheel import (
    PACKAGES,
    WheelEnvironment,
    build_wheel,
    importable_names,
    locked_distributions,
    named_modules,
    source_files,
    uninstalled_distributions,
    wheel_files,
)
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

WORKER_DOCKERFILE = ROOT / "Dockerfile.worker"
TEXTS_WITH_COMMANDS = (
    "Makefile",
    "*.md",
    "Dockerfile.*",
    "docs/**/*",
    "hack/**/*",
    "manifests/**/*",
)

FIND_MISSING = """
import importlib.util, json, sys
print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))
"""
FIND_NOT_RUNNABLE = """
import importlib.util, json, sys
def is_runnable(name):
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        return spec is not None
    return importlib.util.find_spec(name + ".__main__") is not None
print(json.dumps([name for name in sys.argv[1:] if not is_runnable(name)]))
"""
IMPORT_ALL = """
import importlib, json, pkgutil, sys
files = {}
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    files[name] = package.__file__
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            files[module.name] = importlib.import_module(module.name).__file__
print(json.dumps(files))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    """Create the environment that the images of the API and the controller install."""
    locked = locked_distributions(ROOT / "requirements-runtime.lock")
    return WheelEnvironment(tmp_path_factory.mktemp("image"), wheel, locked)


@pytest.fixture(scope="module")
def worker_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    """Create the environment that remains in the worker's image."""
    locked = locked_distributions(ROOT / "requirements-runtime.lock")
    remaining = locked - uninstalled_distributions(WORKER_DOCKERFILE)
    return WheelEnvironment(tmp_path_factory.mktemp("worker"), wheel, remaining)


def test_the_wheel_contains_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    """Expect Python files, the pages' scripts and styles, and `py.typed` markers."""
    assert wheel_files(wheel) == source_files(ROOT)


def test_declared_package_data_is_in_the_wheel(wheel: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    files = wheel_files(wheel)
    for package, patterns in setup["options.package_data"].items():
        folder = ROOT / package.replace(".", "/")
        for pattern in patterns.split():
            declared = {path.relative_to(ROOT).as_posix() for path in folder.glob(pattern)}
            assert declared, f"{pattern} matches nothing in {package}"
            assert declared <= files


def test_all_modules_are_imported_from_the_wheel(environment: WheelEnvironment) -> None:
    files: dict[str, str] = json.loads(environment.run("-c", IMPORT_ALL, *PACKAGES))
    assert len(files) > len(PACKAGES)
    elsewhere = {
        name: file for name, file in files.items() if not file.startswith(str(environment.library))
    }
    assert elsewhere == {}


def test_every_module_that_a_command_runs_is_in_the_wheel(environment: WheelEnvironment) -> None:
    """Check all modules that are run with `python -m`.

    These are named by documents, Dockerfiles, tools and the local processes.
    """
    paths = {path for pattern in TEXTS_WITH_COMMANDS for path in ROOT.glob(pattern)}
    texts = (
        path.read_text() for path in paths if path.is_file() and "__pycache__" not in path.parts
    )
    names = {name for text in texts for name in named_modules(text)}
    programs = {*product_processes.PRODUCT_PROGRAMS, product_processes.RESULT_STORE}
    names |= {program.module for program in programs}
    assert {"apiserver", "controller", "serverless.worker", "serverless.credentials"} <= names
    assert json.loads(environment.run("-c", FIND_NOT_RUNNABLE, *sorted(names))) == []


async def test_the_installed_api_serves_its_page_with_all_assets(
    environment: WheelEnvironment,
) -> None:
    address = f"{HOST}:{new_port()}"
    api = start_api(environment, address)
    try:
        await eventually(lambda: get(f"http://{address}/healthz"), tolerate=OSError)
        status, page = await get(f"http://{address}/ui")
        assets = set(re.findall(r'(?:src|href)="(/ui/static/[^"]+)"', page))
        statuses = {name: (await get(f"http://{address}{name}"))[0] for name in assets}
    finally:
        api.send_signal(signal.SIGTERM)
        _, log = await asyncio.to_thread(api.communicate, timeout=60)
    assert (api.returncode, status) == (0, 200), log
    assert {Path(name).suffix for name in assets} >= {".js", ".css", ".svg"}
    assert set(statuses.values()) == {200}, statuses


def test_the_worker_image_uninstalls_only_locked_distributions() -> None:
    locked = locked_distributions(ROOT / "requirements-runtime.lock")
    assert uninstalled_distributions(WORKER_DOCKERFILE) <= locked


def test_worker_and_framework_need_no_package_that_their_image_lacks(
    worker_environment: WheelEnvironment,
) -> None:
    absent = set[str]().union(*map(importable_names, uninstalled_distributions(WORKER_DOCKERFILE)))
    assert {"kubernetes_asyncio", "marshmallow", "asyncpg"} <= absent
    assert json.loads(worker_environment.run("-c", FIND_MISSING, *sorted(absent))) == sorted(absent)

    packages = ("serverless.worker", "serverless.framework")
    files = json.loads(worker_environment.run("-c", IMPORT_ALL, *packages))
    assert set(packages) < set(files)
    assert worker_environment.run("-m", "serverless.worker", "--help").startswith("usage:")


def start_api(environment: WheelEnvironment, address: str) -> subprocess.Popen[str]:
    """Start the API of the wheel without a cluster, in a folder that holds none of our sources."""
    options = ("--kube-mode", "off", "--http-addr", address)
    return subprocess.Popen(
        (environment.python, "-m", "apiserver", *options),
        cwd=environment.library.parent,
        env=with_run_mark({}),
        stderr=subprocess.PIPE,
        text=True,
    )
