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

    keyword: str
    arguments: str

    @property
    def words(self) -> list[str]:
        """The exec form, or the words as they stand."""
        found: list[str] = (
            json.loads(self.arguments) if self.arguments.startswith("[") else self.arguments.split()
        )
        return found


def parse_stages(path: Path) -> list[list[Instruction]]:
    """The instructions of each stage, its FROM first."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    found: list[list[Instruction]] = []
    for line in filter(None, text.replace("\\\n", " ").splitlines()):
        verb, _, rest = line.partition(" ")
        if verb == "FROM":
            found.append([])
        found[-1].append(Instruction(verb, rest.strip()))
    return found


def last_instruction(stage: list[Instruction], keyword: str) -> Instruction:
    """The instruction that counts."""
    return [each for each in stage if each.keyword == keyword][-1]


class StageDirectory:
    """A folder that stands for the file system of a stage: `/venv` is `<root>/venv` there.

    `python` is the interpreter of the image, and `pip` the one that has the build tools.
    """

    def __init__(self, root: Path, context: Path, python: Path) -> None:
        self.root = root
        self._context = context
        self._working_directory = root / "src"
        self._programs = root / "programs"
        for name, command in {"python": f"{python}", "pip": f"{sys.executable} -m pip"}.items():
            program = self._programs / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            program.chmod(0o755)

    def execute(self, stage: list[Instruction], environment: Mapping[str, str]) -> None:
        """Copy and run what the stage says; anything else changes no file."""
        self._working_directory.mkdir(exist_ok=True)
        for each in stage:
            if each.keyword == "COPY":
                self._copy(*each.words)
            elif each.keyword == "RUN":
                self._run(each.arguments, environment)

    def _copy(self, *words: str) -> None:
        *sources, target = words
        for source in sources:
            command = (
                "cp",
                "-R",
                str(self._context / source),
                str(self._working_directory / target),
            )
            subprocess.run(command, check=True)

    def _run(self, command: str, environment: Mapping[str, str]) -> None:
        there = re.sub(r"(?<=\s)/(?=wheels|venv)", f"{self.root}/", command)
        path = f"{self._programs}:{environment['PATH']}"
        done = subprocess.run(
            ("/bin/sh", "-ec", there),
            cwd=self._working_directory,
            env={**environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{there}\n{done.stdout}{done.stderr}"
