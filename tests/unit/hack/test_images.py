"""Tests of the image build: the choice of the builder, and its command line."""

import pytest

from hack.images import NoBuilderError, build_commands, choose_builder


def test_the_first_builder_that_works_is_taken() -> None:
    assert choose_builder({"podman", "buildah"}.__contains__) == "podman"


def test_without_a_builder_the_reader_learns_what_to_install() -> None:
    with pytest.raises(NoBuilderError, match=r"none of docker, podman, buildah works.*Install one"):
        choose_builder(lambda _: False)


def test_each_image_is_named_as_the_manifests_name_it() -> None:
    assert build_commands("docker", ["api", "controller"], "1.2.3") == [
        ["docker", "build", "--file", "Dockerfile.api", "--tag", "gpu-runtime/api:1.2.3", "."],
        [
            *("docker", "build", "--file", "Dockerfile.controller"),
            *("--tag", "gpu-runtime/controller:1.2.3", "."),
        ],
    ]


def test_builders_of_other_formats_keep_the_health_checks() -> None:
    ((_, build, *form, _, _, _, _, _),) = build_commands("buildah", ["api"], "1.2.3")
    assert (build, form) == ("build", ["--format", "docker"])
