"""Tests of the validation of mounts: a mount path is absolute, unique and not reserved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.validation.mounts import (
    SHARED_MEMORY_PATH,
    is_reserved_path,
    mount_problems,
    normalise_path,
)

PATHS = st.lists(
    st.sampled_from(["", ".", "..", "dev", "proc", "sys", "shm", "a", "devices"]), max_size=6
).map(lambda parts: "/" + "/".join(parts))


def problems(*mounts: tuple[str, str]) -> list[str]:
    storages = tuple(StorageMount(name=name, mount_path=path) for name, path in mounts)
    spec = GPUUnitSpec(spec_name="g1.1", storage_mounts=storages)
    return [problem.text for problem in mount_problems(spec)]


@pytest.mark.parametrize(
    "path",
    [
        "/data",
        "/data/",
        "//data",
        "/a/../b",
        "/devices",
        "/procs",
        SHARED_MEMORY_PATH,
        f"{SHARED_MEMORY_PATH}/a",
        "/a b",
    ],
)
def test_a_mount_path_outside_the_system_folders_is_accepted(path: str) -> None:
    assert problems(("models", path)) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("data", "is not an absolute path"),
        ("./data", "is not an absolute path"),
        ("/", "is a reserved path of the system"),
        ("//", "is a reserved path of the system"),
        ("/a/..", "is a reserved path of the system"),
        ("/proc", "is a reserved path of the system"),
        ("/proc/1", "is a reserved path of the system"),
        ("/var/run/gpu-runtime/x", "is a reserved path of the system"),
        ("/sys/", "is a reserved path of the system"),
        ("/dev", "is a reserved path of the system"),
        ("/dev/null", "is a reserved path of the system"),
        (f"{SHARED_MEMORY_PATH}/..", "is a reserved path of the system"),
        (f"{SHARED_MEMORY_PATH}em", "is a reserved path of the system"),
        ("/../proc", "is a reserved path of the system"),
        ("/a:b", "must not contain a colon"),
    ],
)
def test_reserved_and_relative_mount_paths_are_refused(path: str, message: str) -> None:
    assert problems(("models", path)) == [f'spec.storageMounts[0].mountPath: "{path}" {message}']


def test_two_storages_cannot_have_the_same_mount_path() -> None:
    assert problems(("a", "/data"), ("b", "/x"), ("c", "//x/../data/")) == [
        'spec.storageMounts[2].mountPath: "//x/../data/" is the path of another mount'
    ]


def test_a_storage_cannot_be_mounted_twice() -> None:
    assert problems(("a", "/x"), ("a", "/y")) == [
        'spec.storageMounts[1].name: "a" is mounted twice'
    ]


def test_an_invalid_storage_name_is_refused() -> None:
    (text,) = problems(("a.b", "/x"))
    assert text.startswith('spec.storageMounts[0].name: "a.b" is not the name of a storage')


@given(PATHS)
def test_a_normalised_path_does_not_change_when_normalised_again(path: str) -> None:
    normalised = normalise_path(path)
    assert normalise_path(normalised) == normalised
    assert normalised.startswith("/")
    assert ".." not in normalised.split("/")


@given(PATHS)
def test_every_spelling_of_a_system_path_is_reserved(path: str) -> None:
    first = normalise_path(path).split("/")[1]
    is_in_system = first in ("", "proc", "sys", "dev")
    is_shared_memory = normalise_path(path).split("/")[1:3] == ["dev", "shm"]
    assert is_reserved_path(normalise_path(path)) is (is_in_system and not is_shared_memory)
