"""Tests of pod diagnosis: it quotes the scheduler or the kubelet for a pod that does not run."""

from typing import Any

import msgspec
import pytest

from controller.status.pod_diagnosis import (
    is_unschedulable,
    scheduling_message,
    stable_message,
    waiting_message,
)
from shared.k8s.pod import ContainerStatus, Pod

TOO_FEW = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu"


def a_pod(**condition: str) -> Pod:
    fields = {"type": "PodScheduled", "status": "False", "message": TOO_FEW, **condition}
    body = {"metadata": {"name": "one"}, "status": {"conditions": [fields]}}
    return msgspec.convert(body, Pod)


def waiting(**state: str) -> ContainerStatus:
    body: dict[str, Any] = {"name": "main", "state": {"waiting": state}}
    return msgspec.convert(body, ContainerStatus)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"reason": "Unschedulable"}, TOO_FEW),
        ({"reason": "SchedulingGated"}, ""),
        ({"reason": "Unschedulable", "status": "True"}, ""),
    ],
)
def test_the_scheduler_message_is_returned_if_no_node_was_found(
    condition: dict[str, str], message: str
) -> None:
    pod = a_pod(**condition)
    assert (scheduling_message(pod), is_unschedulable(pod)) == (message, bool(message))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"reason": "ContainerCreating"}, ""),
        ({"reason": "ErrImagePull", "message": "not found"}, "ErrImagePull: not found"),
        ({"reason": "CreateContainerError"}, "CreateContainerError"),
    ],
)
def test_a_starting_container_has_no_waiting_message(state: dict[str, str], message: str) -> None:
    assert waiting_message(waiting(**state)) == message


def test_image_pull_back_off_does_not_hide_the_pull_error() -> None:
    error, backing_off = "ErrImagePull: not found", "ImagePullBackOff: Back-off pulling image"
    assert stable_message(error, backing_off) == error
    assert stable_message("", backing_off) == backing_off
    assert stable_message(error, "the volume is being filled") == "the volume is being filled"
