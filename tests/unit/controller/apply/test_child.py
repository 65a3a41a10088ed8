"""Tests of the decision about a child, from its live and its desired state."""

from typing import Any

import msgspec
import pytest

from controller.apply.child import Child, ChildAction, make_child, next_action, was_applied_before
from controller.gpuunit.resources.service import service_manifest
from controller.kinds import SERVICES
from shared.k8s.network import Service
from shared.v1alpha1.reasons import UnitReason
from tests.support.builders.gpu_units import new_unit

PORTS: dict[str, Any] = {"ports": [{"name": "http", "port": 80}]}
UNIT = new_unit(template=PORTS)
OTHER_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "u"}


def desired_child(live: Service | None = None, **template: Any) -> Child:
    body = service_manifest(new_unit(template=template or PORTS))
    assert body is not None
    return make_child(SERVICES, body, live, UnitReason.SERVICE_SYNC_FAILED)


def live(*, spec: dict[str, Any] | None = None, **metadata: Any) -> Service:
    """Return the Service as it was applied, with changes."""
    body = desired_child().body
    changed = {
        **body,
        "metadata": {**body["metadata"], **metadata},
        "spec": {**body["spec"], "clusterIP": "10.0.0.1", **(spec or {})},
    }
    return msgspec.convert(changed, Service)


def owners(**changes: Any) -> dict[str, Any]:
    (owner,) = desired_child().body["metadata"]["ownerReferences"]
    return {"ownerReferences": [{**owner, **changes}]}


def test_a_missing_child_is_created() -> None:
    assert next_action(desired_child()) is ChildAction.CREATE


@pytest.mark.parametrize(
    "live_service",
    [
        pytest.param(live(), id="unchanged"),
        pytest.param(live(spec={"sessionAffinity": "ClientIP"}), id="with a field of others"),
        pytest.param(
            live(
                spec={
                    "ports": [
                        *desired_child().body["spec"]["ports"],
                        {"port": 9, "protocol": "TCP"},
                    ]
                }
            ),
            id="with a port of others",
        ),
        pytest.param(
            live(labels={**desired_child().body["metadata"]["labels"], "team": "blue"}),
            id="with a label of others",
        ),
    ],
)
def test_a_matching_child_is_not_written(live_service: Service) -> None:
    assert next_action(desired_child(live_service)) is ChildAction.NONE


@pytest.mark.parametrize(
    "live_service",
    [
        pytest.param(live(spec={"type": "NodePort"}), id="a changed field"),
        pytest.param(live(spec={"ports": []}), id="a removed port"),
        pytest.param(
            live(spec={"selector": {**desired_child().body["spec"]["selector"], "app": "x"}}),
            id="a selector with a key more",
        ),
        pytest.param(live(labels={}), id="removed labels"),
        pytest.param(live(annotations={}), id="a removed hash"),
    ],
)
def test_drift_is_corrected(live_service: Service) -> None:
    assert next_action(desired_child(live_service)) is ChildAction.UPDATE


def test_a_removed_field_is_detected_by_the_applied_hash() -> None:
    two_ports: dict[str, Any] = {"ports": [*PORTS["ports"], {"name": "stats", "port": 90}]}
    before = msgspec.convert(dict(desired_child(**two_ports).body), Service)
    assert next_action(desired_child(before)) is ChildAction.UPDATE


@pytest.mark.parametrize(
    "live_service",
    [
        pytest.param(live(ownerReferences=[]), id="without an owner"),
        pytest.param(
            live(ownerReferences=[{**OTHER_OWNER, "controller": True}]), id="of another owner"
        ),
        pytest.param(live(**owners(controller=False)), id="ours, and not controlled"),
        pytest.param(live(**owners(name="two", uid="u")), id="another unit's"),
    ],
)
def test_a_foreign_child_object_is_a_conflict(live_service: Service) -> None:
    assert next_action(desired_child(live_service)) is ChildAction.CONFLICT


@pytest.mark.parametrize(
    "live_service",
    [
        pytest.param(live(**owners(uid="earlier")), id="of an earlier unit of this name"),
        pytest.param(live(deletionTimestamp="now"), id="being deleted"),
    ],
)
def test_a_child_that_will_be_deleted_is_waited_for(live_service: Service) -> None:
    assert next_action(desired_child(live_service)) is ChildAction.WAIT


def test_a_body_with_the_hash_of_the_live_object_was_applied_before() -> None:
    assert was_applied_before(desired_child(live(spec={"ports": []})))
    assert not was_applied_before(desired_child())
    assert not was_applied_before(desired_child(live(), ports=[{"name": "http", "port": 81}]))


def test_the_display_name_of_a_child_is_its_kind_and_name() -> None:
    assert desired_child().display_name == "Service unit-one"
