"""The product's wheel as the images build it, and virtualenvs in which it is installed.

Third-party packages are links into the virtualenv of the tests, and only those of the runtime lock:
nothing is downloaded, and a dependency that the lock lacks is missing as it is in an image.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Final

from tests.runner.run_directory import with_run_mark
from tests.support.checks.dockerfile import parse_stages

PACKAGES: Final = ("apiserver", "controller", "serverless", "shared")
PYTHON_MODULE: Final = re.compile(rf"-m\W+((?:{'|'.join(PACKAGES)})(?:\.\w+)*)")
LOCKED_NAME: Final = re.compile(r"^([\w.-]+)==", re.MULTILINE)


def build_wheel(checkout: Path, folder: Path) -> Path:
    """Build the wheel from what Dockerfile.worker copies; works without a network."""
    source, wheels = folder / "source", folder / "wheels"
    source.mkdir()
    for instruction in parse_stages(checkout / "Dockerfile.worker")[0]:
        if instruction.keyword == "COPY":
            *names, target = instruction.words
            for name in names:
                copy_source(checkout / name, source / target)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(wheels))
    run_quietly(sys.executable, "-m", "pip", "wheel", "--quiet", *options, str(source))
    (wheel,) = wheels.glob("*.whl")
    return wheel


def copy_source(path: Path, target: Path) -> None:
    """Copy a file into a folder, or a folder to a path, without its byte code."""
    if path.is_dir():
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(path, target)


def source_files(checkout: Path) -> set[str]:
    """List the files of the product's packages in a checkout, without byte code."""
    paths = (path for package in PACKAGES for path in (checkout / package).rglob("*"))
    return {
        path.relative_to(checkout).as_posix()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }


def wheel_files(wheel: Path) -> set[str]:
    """List the files of a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


class WheelEnvironment:
    """A virtualenv with the wheel and some locked distributions."""

    def __init__(self, folder: Path, wheel: Path, distributions: Collection[str]) -> None:
        venv.create(folder)
        (self.library,) = folder.glob("lib/python*/site-packages")
        self.python = folder / "bin" / "python"
        self._working_dir = folder
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.library)
        for name in distributions:
            for entry in distribution_entries(name):
                (self.library / entry.name).symlink_to(entry)

    def run(self, *arguments: str) -> str:
        """Run Python in an empty folder, without the tests' environment; returns its output."""
        return run_quietly(str(self.python), *arguments, working_dir=self._working_dir)


def locked_distributions(lock: Path) -> set[str]:
    """List the names of a lock file whose distributions are installed here.

    Names that are only for other platforms or Python versions are omitted.
    """
    installed = {normalised(distribution.name) for distribution in metadata.distributions()}
    return {normalised(name) for name in LOCKED_NAME.findall(lock.read_text())} & installed


def uninstalled_distributions(dockerfile: Path) -> set[str]:
    """List the distributions that the build stage of a Dockerfile uninstalls."""
    build = parse_stages(dockerfile)[0]
    commands = [step.arguments for step in build if step.keyword == "RUN"]
    (names,) = (
        match[1] for text in commands if (match := re.search(r"uninstall --yes (.*)", text))
    )
    return {normalised(name) for name in names.split()}


def distribution_entries(name: str) -> Iterator[Path]:
    """List the files and folders that a distribution has in site-packages."""
    distribution = metadata.distribution(name)
    parts = {PurePosixPath(file).parts[0] for file in distribution.files or ()}
    for part in sorted(parts - {"..", "__pycache__"}):
        yield Path(str(distribution.locate_file(part)))


def importable_names(distribution: str) -> set[str]:
    """List the modules and packages at the top level of a distribution."""
    entries = (entry.name for entry in distribution_entries(distribution))
    names = {name.split(".")[0] for name in entries if not name.endswith((".dist-info", ".libs"))}
    return {name for name in names if name.isidentifier()}


def named_modules(text: str) -> set[str]:
    """List our modules that a text runs with `python -m`, in any notation."""
    return set(PYTHON_MODULE.findall(text))


def normalised(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def run_quietly(*command: str, working_dir: Path | None = None) -> str:
    """Run a program to its end and return its output; raises AssertionError when it fails."""
    environment = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    result = subprocess.run(
        command,
        cwd=working_dir,
        env=with_run_mark(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}"
    return result.stdout
