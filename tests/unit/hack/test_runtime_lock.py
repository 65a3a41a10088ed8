"""Tests of the images' lock: exactly the requirements of the programs, out of the whole lock."""

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


def needed(names: Sequence[str]) -> set[str]:
    """Return the distributions of `names` and all their requirements on this platform."""
    found: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += [canonicalize_name(each.name) for each in asked_by(name)]
    return found


def asked_by(name: str) -> list[Requirement]:
    asked = map(Requirement, metadata.requires(name) or ())
    return [each for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]


def test_the_images_have_the_versions_that_are_tested() -> None:
    whole, runtime = ROOT / "requirements.lock", ROOT / "requirements-runtime.lock"
    assert entries(runtime) <= entries(whole), "the locks differ; run: make lock"


def test_the_images_have_what_the_programs_need_and_nothing_else() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    asked = setup["options"]["install_requires"].split("\n")
    names = [canonicalize_name(Requirement(each).name) for each in asked if each]
    held = set(PIN.findall((ROOT / "requirements-runtime.lock").read_text()))
    assert held == needed(names), "not what setup.cfg asks for; run: make lock"
