"""Tests of the images' lock: the requirements of the programs, pinned as in the whole lock."""

import configparser
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hack.local.state_dir import ROOT

PIN = re.compile(r"^([a-z0-9.-]+)==", re.MULTILINE)


def entries(path: Path) -> set[str]:
    """Return each pin with its hashes, without its marker: markers differ between the locks."""
    text = re.sub(r" ; .*(?= \\$)", "", path.read_text(), flags=re.MULTILINE)
    return set(re.split(r"\n(?=\S)", text.strip()))


def required_distributions(names: Sequence[str]) -> set[str]:
    """Return the distributions of `names` and all their requirements on this platform."""
    required: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in required:
            required.add(name)
            queue += [canonicalize_name(item.name) for item in requirements_of(name)]
    return required


def requirements_of(name: str) -> list[Requirement]:
    declared = map(Requirement, metadata.requires(name) or ())
    return [item for item in declared if item.marker is None or item.marker.evaluate({"extra": ""})]


def test_the_runtime_lock_has_the_versions_of_the_whole_lock() -> None:
    whole, runtime = ROOT / "requirements.lock", ROOT / "requirements-runtime.lock"
    assert entries(runtime) <= entries(whole), "the locks differ; run: make lock"


def test_the_runtime_lock_has_exactly_the_requirements_of_the_programs() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    declared = setup["options"]["install_requires"].split("\n")
    names = [canonicalize_name(Requirement(line).name) for line in declared if line]
    pinned = set(PIN.findall((ROOT / "requirements-runtime.lock").read_text()))
    assert pinned == required_distributions(names), "differs from setup.cfg; run: make lock"
