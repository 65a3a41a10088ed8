"""Tests of the image build: the choice of the builder, and its command line."""

import pytest

from hack.images import NoBuilderError, build_commands, choose_builder


def test_the_first_usable_builder_is_chosen() -> None:
    assert choose_builder({"podman", "buildah"}.__contains__) == "podman"


def test_the_error_without_a_builder_says_what_to_install() -> None:
    with pytest.raises(NoBuilderError, match=r"none of docker, podman, buildah works.*Install one"):
        choose_builder(lambda _: False)


def test_image_names_match_the_manifests() -> None:
    assert build_commands("docker", ["api", "controller"], "1.2.3") == [
        ["docker", "build", "--file", "Dockerfile.api", "--tag", "gpu-runtime/api:1.2.3", "."],
        [
            *("docker", "build", "--file", "Dockerfile.controller"),
            *("--tag", "gpu-runtime/controller:1.2.3", "."),
        ],
    ]


def test_buildah_builds_in_the_docker_format_to_keep_health_checks() -> None:
    ((_, build, *options, _, _, _, _, _),) = build_commands("buildah", ["api"], "1.2.3")
    assert (build, options) == ("build", ["--format", "docker"])
