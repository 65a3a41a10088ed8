"""Tests of the schema of unit changes: an absent field keeps its value, null clears it."""

from typing import Any

import pytest
from msgspec import UNSET

from apiserver.units.commands import ChangeUnit
from apiserver.units.schemas import ChangeUnitSchema
from shared.v1alpha1.gpuunit import UnitAccess
from shared.v1alpha1.template import WorkloadTemplate
from tests.unit.apiserver.field_errors import field_errors


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ({}, ChangeUnit("")),
        ({"image": "b:2"}, ChangeUnit("", image="b:2")),
        ({"template": {"args": ["x"]}}, ChangeUnit("", template=WorkloadTemplate(args=("x",)))),
        ({"template": {}}, ChangeUnit("", template=WorkloadTemplate())),
        (
            {"access": {"primaryPort": "http"}},
            ChangeUnit("", access=UnitAccess(primary_port="http")),
        ),
        ({"labels": {}}, ChangeUnit("", labels={})),
        (
            {"template": None, "access": None, "storageMounts": None, "labels": None},
            ChangeUnit("", template=None, access=None, storage_mounts=None, labels=None),
        ),
    ],
)
def test_present_fields_of_a_unit_change_are_parsed(
    body: dict[str, Any], command: ChangeUnit
) -> None:
    assert ChangeUnitSchema().parse(body) == command


def test_absent_fields_of_a_unit_change_are_unset() -> None:
    command = ChangeUnitSchema().parse({})
    assert {command.image, command.template, command.access, command.labels} == {UNSET}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"image": None}, {"image": "must not be null"}),
        ({"image": ""}, {"image": "is required"}),
        ({"specName": "g1.1"}, {"specName": "there is no such field"}),
        ({"operationID": "x"}, {"operationID": "there is no such field"}),
        (
            {"template": None, "access": {"scheme": "http"}},
            {"access": "needs a port in template.ports"},
        ),
        ({"access": {"scheme": "gopher"}}, {"access.scheme": "must be http, https or tcp"}),
        (
            {"labels": {"runtime.lokiwager.io/x": "1"}},
            {"labels['runtime.lokiwager.io/x']": "is a label that only this service sets"},
        ),
    ],
)
def test_invalid_and_unchangeable_fields_are_refused_by_name(
    body: dict[str, Any], errors: dict[str, str]
) -> None:
    assert field_errors(ChangeUnitSchema(), body) == errors


def test_all_problems_of_a_unit_change_are_listed() -> None:
    body = {
        "name": "other",
        "template": {"args": 7, "ports": [{"name": "http", "port": 80}]},
        "access": {"primaryPort": "nope"},
    }
    assert set(field_errors(ChangeUnitSchema(), body)) == {
        "name",
        "template.args",
        "access.primaryPort",
    }
