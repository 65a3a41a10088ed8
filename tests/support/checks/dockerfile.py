"""The stages of a Dockerfile, and their commands run in a folder instead of an image."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Dockerfile, with continued lines joined."""

    keyword: str
    arguments: str

    @property
    def words(self) -> list[str]:
        """Return the arguments as words, also those of the exec form."""
        words: list[str] = (
            json.loads(self.arguments) if self.arguments.startswith("[") else self.arguments.split()
        )
        return words


def parse_stages(path: Path) -> list[list[Instruction]]:
    """Return the instructions of each stage; each begins with its FROM."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    stages: list[list[Instruction]] = []
    for line in filter(None, text.replace("\\\n", " ").splitlines()):
        keyword, _, arguments = line.partition(" ")
        if keyword == "FROM":
            stages.append([])
        stages[-1].append(Instruction(keyword, arguments.strip()))
    return stages


def last_instruction(stage: list[Instruction], keyword: str) -> Instruction:
    """Return the last instruction with that keyword, which overrides earlier ones."""
    return [instruction for instruction in stage if instruction.keyword == keyword][-1]


class StageDirectory:
    """A folder in place of a stage's file system: `/venv` is `<root>/venv`.

    `python` is the interpreter of the image, and `pip` the one of the tests, with the build tools.
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
        """Execute the COPY and RUN instructions; no other instruction changes a file."""
        self._working_directory.mkdir(exist_ok=True)
        for instruction in stage:
            if instruction.keyword == "COPY":
                self._copy(*instruction.words)
            elif instruction.keyword == "RUN":
                self._run(instruction.arguments, environment)

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
        local_command = re.sub(r"(?<=\s)/(?=wheels|venv)", f"{self.root}/", command)
        path = f"{self._programs}:{environment['PATH']}"
        result = subprocess.run(
            ("/bin/sh", "-ec", local_command),
            cwd=self._working_directory,
            env={**environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{local_command}\n{result.stdout}{result.stderr}"
