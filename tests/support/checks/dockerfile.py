"""A Dockerfile as its stages, and its commands run in a folder instead of an image."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, continued lines joined: what to do, and with what."""

    verb: str
    rest: str

    @property
    def words(self) -> list[str]:
        """The exec form, or the words as they stand."""
        found: list[str] = json.loads(self.rest) if self.rest.startswith("[") else self.rest.split()
        return found


def stages(path: Path) -> list[list[Instruction]]:
    """The instructions of each stage, its FROM first."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    found: list[list[Instruction]] = []
    for line in filter(None, text.replace("\\\n", " ").splitlines()):
        verb, _, rest = line.partition(" ")
        if verb == "FROM":
            found.append([])
        found[-1].append(Instruction(verb, rest.strip()))
    return found


def last(stage: list[Instruction], verb: str) -> Instruction:
    """The instruction that counts."""
    return [each for each in stage if each.verb == verb][-1]


class Workshop:
    """A folder that stands for the file system of a stage: `/venv` is `<root>/venv` there.

    `python` is the interpreter of the image, and `pip` the one that has the build tools.
    """

    def __init__(self, root: Path, context: Path, python: Path) -> None:
        self.root = root
        self._context = context
        self._place = root / "src"
        self._programs = root / "programs"
        for name, command in {"python": f"{python}", "pip": f"{sys.executable} -m pip"}.items():
            program = self._programs / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            program.chmod(0o755)

    def carry_out(self, stage: list[Instruction], environment: Mapping[str, str]) -> None:
        """Copy and run what the stage says; anything else changes no file."""
        self._place.mkdir(exist_ok=True)
        for each in stage:
            if each.verb == "COPY":
                self._copy(*each.words)
            elif each.verb == "RUN":
                self._run(each.rest, environment)

    def _copy(self, *words: str) -> None:
        *sources, target = words
        for source in sources:
            command = ("cp", "-R", str(self._context / source), str(self._place / target))
            subprocess.run(command, check=True)

    def _run(self, command: str, environment: Mapping[str, str]) -> None:
        there = re.sub(r"(?<=\s)/(?=wheels|venv)", f"{self.root}/", command)
        path = f"{self._programs}:{environment['PATH']}"
        done = subprocess.run(
            ("/bin/sh", "-ec", there),
            cwd=self._place,
            env={**environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{there}\n{done.stdout}{done.stderr}"
