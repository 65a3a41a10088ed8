"""The steps of the Dockerfiles, run here: a clean build, and programs as an unprivileged user.

No image is built, because that needs a container engine; `tests/kind` builds images.
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

IMAGE_USER = 65532
DOCKERFILES = sorted(ROOT.glob("Dockerfile.*"))
OFF = ("--kube-mode", "off", "--http-addr")


def is_usable_by_image_user(python: Path) -> bool:
    """Return whether the interpreter has our version and can be run by an unprivileged user."""
    script = "import sys; print(*sys.version_info[:2])"
    command = (str(python), "-c", script)
    try:
        result = subprocess.run(
            command, user=IMAGE_USER, capture_output=True, text=True, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return result.stdout.split() == [str(part) for part in sys.version_info[:2]]


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
    usable = next((path for path in known if is_usable_by_image_user(path)), None)
    if usable is None:
        pytest.skip(
            f"no Python {sys.version_info[0]}.{sys.version_info[1]} that every user may run"
        )
    return usable


@pytest.fixture(scope="module")
def image_tree(python: Path) -> Iterator[Path]:
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
def writable_copy(image_tree: Path) -> Iterator[Path]:
    """Create a writable copy of the tree for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="gpu-runtime-image-") as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(image_tree / "venv", Path(folder) / "venv", symlinks=True)
        for path in Path(folder).rglob("*"):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o200)
        yield Path(folder)


def make_read_only(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o7555)


def start_program(image_tree: Path, final: list[Instruction], *flags: str) -> subprocess.Popen[str]:
    """Run the entry point of an image as its user, in an empty folder without write permission."""
    _, *entry = last_instruction(final, "ENTRYPOINT").words
    return subprocess.Popen(
        (str(image_tree / "venv/bin/python"), *entry, *flags),
        user=IMAGE_USER,
        group=IMAGE_USER,
        extra_groups=(),
        cwd=image_tree,
        env=with_run_mark({"HOME": "/tmp", "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"}),  # noqa: S108
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def files_of(root: Path) -> set[Path]:
    return set(root.rglob("*"))


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_hadolint_reports_no_problem(dockerfile: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip(f"{hadolint} is missing; run: make venv")
    result = subprocess.run((hadolint, dockerfile), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_an_image_runs_as_an_unprivileged_user_on_a_pinned_base(dockerfile: Path) -> None:
    build, final = parse_stages(dockerfile)
    bases = {stage[0].words[0] for stage in (build, final)}
    assert len(bases) == 1
    assert all(base.count(".") == 2 for base in bases), "the base is pinned to a patch release"
    assert last_instruction(final, "USER").arguments == f"{IMAGE_USER}:{IMAGE_USER}"
    assert last_instruction(final, "ENTRYPOINT").words[:2] == ["python", "-m"]
    assert "/healthz" in last_instruction(final, "HEALTHCHECK").arguments
    assert "install " not in last_instruction(final, "RUN").arguments.replace("uninstall ", ""), (
        "the final stage installs nothing"
    )


def test_the_install_tools_of_the_base_image_are_removed(tmp_path: Path) -> None:
    """Use a folder in place of /usr/local of the base image, with the packages of its Python."""
    (command,) = {last_instruction(parse_stages(path)[1], "RUN").arguments for path in DOCKERFILES}
    base = tmp_path / "local"
    venv.create(base, with_pip=True)
    library = base / "lib" / "python{}.{}".format(*sys.version_info[:2])
    (library / "ensurepip").mkdir()
    script, path = command.replace("/usr/local", str(base)), f"{base / 'bin'}:{os.environ['PATH']}"
    subprocess.run(("/bin/sh", "-ec", script), env=with_run_mark({"PATH": path}), check=True)

    assert not list(library.glob("site-packages/*.dist-info"))
    assert not (library / "ensurepip").exists()
    assert not list(base.glob("bin/pip*"))


def test_the_images_are_built_in_the_same_way() -> None:
    builds = [parse_stages(path)[0] for path in DOCKERFILES]
    shortest = min(builds, key=len)
    assert all(build[: len(shortest)] == shortest for build in builds)


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.suffix[1:])
def test_an_entry_point_prints_its_usage(image_tree: Path, dockerfile: Path, python: Path) -> None:
    """Run on the tree of the image; apply the steps that differ from the controller's to a copy."""
    build, final = parse_stages(dockerfile)
    extra_steps = build[len(parse_stages(ROOT / "Dockerfile.controller")[0]) :]
    with writable_copy(image_tree) if extra_steps else nullcontext(image_tree) as tree:
        StageDirectory(tree, ROOT, python).execute(extra_steps, clean_environment())
        make_read_only(tree)
        before = files_of(tree)
        with start_program(tree, final, "--help") as program:
            output, _ = program.communicate(timeout=60)

        assert (program.returncode, output.split()[0]) == (0, "usage:"), output
        assert files_of(tree) == before


async def test_the_api_runs_as_an_unprivileged_user_on_a_read_only_filesystem(
    image_tree: Path,
) -> None:
    _, final = parse_stages(ROOT / "Dockerfile.api")
    address = f"{HOST}:{new_port()}"
    before = files_of(image_tree)
    with start_program(image_tree, final, *OFF, address) as program:
        try:
            await eventually(lambda: get(f"http://{address}/healthz"), tolerate=OSError)
            health = (await get(f"http://{address}/api/v1/health"))[1]
        finally:
            program.send_signal(signal.SIGTERM)
            output, _ = await asyncio.to_thread(program.communicate, timeout=60)

    assert program.returncode == 0, output
    assert health["data"]["version"] == product_version()
    assert files_of(image_tree) == before


def test_the_image_has_no_development_dependencies(image_tree: Path) -> None:
    (library,) = (image_tree / "venv/lib").iterdir()
    names = {
        path.name.partition("-")[0].lower() for path in library.glob("site-packages/*.dist-info")
    }
    assert "gpu_runtime" in names
    assert not names & {"pip", "setuptools", "pytest", "mypy", "ruff", "hypothesis", "uv"}
