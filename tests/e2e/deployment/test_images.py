"""The steps of the Dockerfiles, run here: the build in a clean folder, programs as user nobody.

No image is built: that needs a container engine, and `tests/kind` builds images where there is one.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from hack.cluster.ports import HOST
from hack.local.state_dir import ROOT
from shared.config.version import product_version
from tests.runner.ports import new_port
from tests.runner.run_directory import with_run_mark
from tests.support.checks.dockerfile import (
    Instruction,
    StageDirectory,
    last_instruction,
    parse_stages,
)
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

NOBODY = 65532
DOCKERFILES = sorted(ROOT.glob("Dockerfile.*"))
OFF = ("--kube-mode", "off", "--http-addr")


def is_usable_by_nobody(python: Path) -> bool:
    """Return whether the interpreter has our version and can be run by an unprivileged user."""
    question = "import sys; print(*sys.version_info[:2])"
    command = (str(python), "-c", question)
    try:
        answer = subprocess.run(command, user=NOBODY, capture_output=True, text=True, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.stdout.split() == [str(part) for part in sys.version_info[:2]]


@pytest.fixture(scope="module")
def python() -> Path:
    """Return an interpreter like the interpreter of the image."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a program as another user")
    known = (
        Path(sys.executable).resolve(),
        Path("/usr/local/bin/python3"),
        Path("/usr/bin/python3"),
    )
    found = next((each for each in known if is_usable_by_nobody(each)), None)
    if found is None:
        pytest.skip(f"no Python {sys.version_info[0]}.{sys.version_info[1]} that everybody may run")
    return found


@pytest.fixture(scope="module")
def built(python: Path) -> Iterator[Path]:
    """Return the read-only tree that the build stage of the controller leaves."""
    root = Path(tempfile.mkdtemp(prefix="gpu-runtime-image-"))
    root.chmod(0o755)
    try:
        stage, _ = parse_stages(ROOT / "Dockerfile.controller")
        StageDirectory(root, ROOT, python).execute(stage, clean_environment())
        make_read_only(root)
        yield root
    finally:
        shutil.rmtree(root)


def clean_environment() -> dict[str, str]:
    """Return the environment variables without those that refer to this checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@contextmanager
def copied(built: Path) -> Iterator[Path]:
    """Create a writable copy of the tree for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="gpu-runtime-image-") as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(built / "venv", Path(folder) / "venv", symlinks=True)
        for path in Path(folder).rglob("*"):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o200)
        yield Path(folder)


def make_read_only(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o7555)


def started(built: Path, final: list[Instruction], *flags: str) -> subprocess.Popen[str]:
    """Run the entry point of an image as its user, in an empty folder without write permission."""
    _, *entry = last_instruction(final, "ENTRYPOINT").words
    return subprocess.Popen(
        (str(built / "venv/bin/python"), *entry, *flags),
        user=NOBODY,
        group=NOBODY,
        extra_groups=(),
        cwd=built,
        env=with_run_mark({"HOME": "/tmp", "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"}),  # noqa: S108
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def files_of(root: Path) -> set[Path]:
    return set(root.rglob("*"))


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_hadolint_has_nothing_to_say(dockerfile: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip(f"{hadolint} is missing; run: make venv")
    done = subprocess.run((hadolint, dockerfile), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_an_image_runs_as_the_nobody_user_on_a_pinned_base(dockerfile: Path) -> None:
    build, final = parse_stages(dockerfile)
    bases = {stage[0].words[0] for stage in (build, final)}
    assert len(bases) == 1
    assert all(base.count(".") == 2 for base in bases), "the base is pinned to a patch release"
    assert last_instruction(final, "USER").arguments == f"{NOBODY}:{NOBODY}"
    assert last_instruction(final, "ENTRYPOINT").words[:2] == ["python", "-m"]
    assert "/healthz" in last_instruction(final, "HEALTHCHECK").arguments
    assert "install " not in last_instruction(final, "RUN").arguments.replace("uninstall ", ""), (
        "nothing is installed where it runs"
    )


def test_the_tools_of_the_base_are_taken_out(tmp_path: Path) -> None:
    """Use a folder in place of /usr/local of the base image, with the packages of its Python."""
    (command,) = {last_instruction(parse_stages(each)[1], "RUN").arguments for each in DOCKERFILES}
    base = tmp_path / "local"
    venv.create(base, with_pip=True)
    library = base / "lib" / "python{}.{}".format(*sys.version_info[:2])
    (library / "ensurepip").mkdir()
    there, path = command.replace("/usr/local", str(base)), f"{base / 'bin'}:{os.environ['PATH']}"
    subprocess.run(("/bin/sh", "-ec", there), env=with_run_mark({"PATH": path}), check=True)

    assert not list(library.glob("site-packages/*.dist-info"))
    assert not (library / "ensurepip").exists()
    assert not list(base.glob("bin/pip*"))


def test_the_images_are_built_in_the_same_way() -> None:
    builds = [parse_stages(each)[0] for each in DOCKERFILES]
    shortest = min(builds, key=len)
    assert all(build[: len(shortest)] == shortest for build in builds)


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_an_entry_point_explains_itself(built: Path, dockerfile: Path, python: Path) -> None:
    """Run on the tree of the image; apply the steps that differ from the controller's to a copy."""
    build, final = parse_stages(dockerfile)
    own = build[len(parse_stages(ROOT / "Dockerfile.controller")[0]) :]
    with copied(built) if own else nullcontext(built) as tree:
        StageDirectory(tree, ROOT, python).execute(own, clean_environment())
        make_read_only(tree)
        before = files_of(tree)
        with started(tree, final, "--help") as program:
            said, _ = program.communicate(timeout=60)

        assert (program.returncode, said.split()[0]) == (0, "usage:"), said
        assert files_of(tree) == before


async def test_the_api_runs_as_the_nobody_user_on_a_read_only_filesystem(built: Path) -> None:
    _, final = parse_stages(ROOT / "Dockerfile.api")
    address = f"{HOST}:{new_port()}"
    before = files_of(built)
    with started(built, final, *OFF, address) as program:
        try:
            await eventually(lambda: get(f"http://{address}/healthz"), tolerate=OSError)
            health = (await get(f"http://{address}/api/v1/health"))[1]
        finally:
            program.send_signal(signal.SIGTERM)
            said, _ = await asyncio.to_thread(program.communicate, timeout=60)

    assert program.returncode == 0, said
    assert health["data"]["version"] == product_version()
    assert files_of(built) == before


def test_the_image_has_no_development_dependencies(built: Path) -> None:
    (library,) = (built / "venv/lib").iterdir()
    found = {
        path.name.partition("-")[0].lower() for path in library.glob("site-packages/*.dist-info")
    }
    assert "gpu_runtime" in found
    assert not found & {"pip", "setuptools", "pytest", "mypy", "ruff", "hypothesis", "uv"}
