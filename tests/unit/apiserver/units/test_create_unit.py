"""Tests of the schema of unit requests: it rejects everything that Kubernetes would reject."""

from typing import Any

import pytest

from apiserver.config import NamespacesConfig, RequestLimits
from apiserver.units.commands import CreateUnit
from apiserver.units.schemas import CreateUnitSchema
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint
from shared.v1alpha1.gpuunit import ServerlessSpec, UnitAccess
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.template import EnvVar, EnvVarSource, Port, SecretKeyRef, WorkloadTemplate
from tests.unit.apiserver.field_errors import field_errors

MINIMAL_BODY = {
    "operationID": "o-1",
    "name": "trainer",
    "specName": "g1.1",
    "image": "example/app:1",
}
PORTS = {"ports": [{"name": "http", "port": 80}]}


def errors_of(**fields: Any) -> dict[str, str]:
    return field_errors(CreateUnitSchema(), {**MINIMAL_BODY, **fields})


def test_a_minimal_create_request_is_read() -> None:
    assert CreateUnitSchema().parse(MINIMAL_BODY) == CreateUnit(
        "o-1", "trainer", "g1.1", "example/app:1"
    )


def test_a_complete_create_request_is_read() -> None:
    body = {
        **MINIMAL_BODY,
        "namespace": "runtime-instance",
        "stockNamespace": "runtime-stock",
        "stockName": "stock-1",
        "template": {
            "command": ["/bin/run"],
            "args": ["--fast"],
            "envs": [
                {"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "ports": [
                {"name": "http", "port": 80},
                {"name": "dns", "port": 80, "protocol": "UDP"},
            ],
        },
        "access": {"primaryPort": "http", "scheme": "https"},
        "storageMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
        "imagePullSecrets": ["registry"],
        "labels": {"example.com/tenant": "blue"},
        "serverless": {"requestID": "fn-1", "framework": {"socketPath": "/run/fn.sock"}},
    }
    assert CreateUnitSchema().parse(body) == CreateUnit(
        "o-1",
        "trainer",
        "g1.1",
        "example/app:1",
        stock_name="stock-1",
        template=WorkloadTemplate(
            command=("/bin/run",),
            args=("--fast",),
            envs=(
                EnvVar(name="A", value="1"),
                EnvVar(
                    name="B",
                    value_from=EnvVarSource(secret_key_ref=SecretKeyRef(name="s", key="k")),
                ),
            ),
            ports=(Port(name="http", port=80), Port(name="dns", port=80, protocol="UDP")),
        ),
        access=UnitAccess(primary_port="http", scheme="https"),
        storage_mounts=(StorageMount(name="data", mount_path="/data", read_only=True),),
        image_pull_secrets=("registry",),
        labels={"example.com/tenant": "blue"},
        serverless=ServerlessSpec(
            function_name="fn-1", framework=FrameworkEndpoint(socket_path="/run/fn.sock")
        ),
    )


def test_all_missing_fields_are_listed() -> None:
    assert field_errors(CreateUnitSchema(), {}) == dict.fromkeys(MINIMAL_BODY, "is required")


@pytest.mark.parametrize("operation_id", ["x", "a b", "fn/uid/3", "Ω" * 128, "👩‍🚀"[:1], "-"])
def test_valid_operation_ids_are_accepted(operation_id: str) -> None:
    command = CreateUnitSchema().parse({**MINIMAL_BODY, "operationID": operation_id})
    assert command.operation_id == operation_id


@pytest.mark.parametrize(
    "operation_id", ["", " a", "a ", "a\u00a0", "\u2003a", "a\nb", "a\u200bb", "x" * 129, "a\x7f"]
)
def test_invalid_operation_ids_are_refused(operation_id: str) -> None:
    (message,) = errors_of(operationID=operation_id).values()
    assert message.endswith(
        "is not an operationID: 1 to 128 printable characters, no blank at either end, "
        "such as order-4711"
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("operationID", 1, "is not text"),
        ("operationID", None, "must not be null"),
        ("operationID", "a\0", "has a NUL character"),
        ("name", "Trainer", '"Trainer" is not a name: lower case letters, digits and -, '),
        ("name", "a" * 64, f'"{"a" * 64}" is not a name: '),
        ("name", "trainer\n", '"trainer\\n" is not a name: '),
        ("name", "trаiner", '"trаiner" is not a name: '),  # noqa: RUF001 - a Cyrillic letter
        ("name", "a.b", '"a.b" is not a name: '),
        ("specName", "", '"" is not a spec name: '),
        ("specName", "g 1", '"g 1" is not a spec name: '),
        ("image", "", "is required"),
        ("image", "a b", '"a b" is not an image: it contains spaces or unprintable characters'),
        ("image", True, "is not text"),
        ("namespace", "default", '"default" is not the configured namespace, which is '),
        ("stockNamespace", "runtime-instance", '"runtime-instance" is not the configured '),
        ("stockName", "../x", '"../x" is not a name: '),
        ("template", None, "must not be null"),
        ("template", [], "is not an object"),
        ("access", "http", "is not an object"),
        ("storageMounts", {}, "is not a list"),
        ("storageMounts", "a", "is not a list"),
        ("imagePullSecrets", None, "must not be null"),
        ("imagePullSecrets", ["a"] * 4097, "has more than 4096 items"),
        ("labels", [], "is not an object"),
        ("memory", "1Gi", "cannot be set: it comes from the stock unit"),
        ("gpu", 1, "cannot be set: it comes from the stock unit"),
        ("cpu", "1", "cannot be set: it comes from the stock unit"),
        ("operationId", "x", "there is no such field"),
        ("Name", "x", "there is no such field"),
    ],
)
def test_an_invalid_field_is_refused_with_its_name_and_the_accepted_values(
    field: str, value: object, message: str
) -> None:
    errors = errors_of(**{field: value})
    assert list(errors) == [field]
    assert errors[field].startswith(message)


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"template": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": "1"}]}},
         {"template.ports[1].port": "is not a whole number"}),
        ({"template": {"ports": [{"name": "a", "port": 1.0}]}},
         {"template.ports[0].port": "is not a whole number"}),
        ({"template": {"ports": [{"name": "a", "port": True}]}},
         {"template.ports[0].port": "is not a whole number"}),
        ({"template": {"ports": [{"name": "a", "port": 0}, {"name": "b", "port": 65536}]}},
         {"template.ports[0].port": "must be from 1 to 65535",
          "template.ports[1].port": "must be from 1 to 65535"}),
        ({"template": {"ports": [{"port": 1, "protocol": "tcp"}]}},
         {"template.ports[0].name": "is required",
          "template.ports[0].protocol": "must be TCP or UDP"}),
        ({"template": {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 1}]}},
         {"template.ports[1].name": '"a" is listed twice',
          "template.ports[1].port": '"1/TCP" is listed twice'}),
        ({"template": {"ports": [{"name": "a" * 16, "port": 1}]}},
         {"template.ports[0].name": '"aaaaaaaaaaaaaaaa" is not the name of a port: lower case '
                                    "letters, digits and single -, at most 15 characters, "
                                    "such as http"}),
        ({"template": {"envs": [{"name": "A=secret"}]}},
         {"template.envs[0].name": '"A" is not a name: printable ASCII characters without ='}),
        ({"template": {"envs": [{"name": "A"}, {"name": "A"}]}},
         {"template.envs[1].name": '"A" is listed twice'}),
        ({"template": {"envs": [{"name": "A", "value": "1", "valueFrom": {
            "secretKeyRef": {"name": "s", "key": "k"}}}]}},
         {"template.envs[0]": "has both value and valueFrom"}),
        ({"template": {"envs": [{"name": "A", "valueFrom": {"configMapKeyRef": {}}}]}},
         {"template.envs[0].valueFrom.secretKeyRef": "is required",
          "template.envs[0].valueFrom.configMapKeyRef": "there is no such field"}),
        ({"template": {"envs": [{"name": "A", "value": 1}]}},
         {"template.envs[0].value": "is not text"}),
        ({"template": {"command": "run", "args": [1]}},
         {"template.command": "is not a list", "template.args[0]": "is not text"}),
        ({"template": {"args": ["a\0b"]}}, {"template.args[0]": "has a NUL character"}),
        ({"template": PORTS, "access": {"primaryPort": "x"}},
         {"access.primaryPort": "\"x\" is not a port of the unit; its ports are 'http'"}),
        ({"access": {}}, {"access": "needs a port in template.ports"}),
        ({"template": PORTS, "access": {"scheme": "ftp"}},
         {"access.scheme": "must be http, https or tcp"}),
        ({"storageMounts": [{"name": "a", "mountPath": "/x"}, {"name": "a", "mountPath": "/x/"}]},
         {"storageMounts[1].name": '"a" is mounted twice',
          "storageMounts[1].mountPath": '"/x/" is the path of another mount'}),
        ({"storageMounts": [{"name": "a", "mountPath": "/proc/self"}]},
         {"storageMounts[0].mountPath": '"/proc/self" is a reserved path of the system'}),
        ({"storageMounts": [{"name": "a", "mountPath": "x", "readOnly": "yes"}]},
         {"storageMounts[0].readOnly": "is neither true nor false"}),
        ({"storageMounts": [None]}, {"storageMounts[0]": "must not be null"}),
        ({"imagePullSecrets": ["a", "a"]}, {"imagePullSecrets[1]": '"a" is listed twice'}),
        ({"labels": {"a": 1}}, {"labels['a']": "is not text"}),
        ({"labels": {"runtime.lokiwager.io/unit": "x", "app.kubernetes.io/name": "y",
                     "app.kubernetes.io/managed-by": "z"}},
         {"labels['runtime.lokiwager.io/unit']": "is a label that only this service sets",
          "labels['app.kubernetes.io/name']": "is a label that only this service sets",
          "labels['app.kubernetes.io/managed-by']": "is a label that only this service sets"}),
        ({"labels": {"a b": "x"}},
         {"labels['a b']": "is not the key of a label: letters, digits, -, _ and ., after an "
                           "optional domain, such as example.com/zone"}),
        ({"labels": {"a": "x y"}},
         {"labels['a']": '"x y" is not the value of a label: letters, digits, -, _ and ., '
                         "at most 63 characters, such as eu-west"}),
        ({"serverless": {}}, {"serverless.requestID": "is required"}),
        ({"serverless": {"requestID": "a" * 49}},
         {"serverless.requestID": f'"{"a" * 49}" is not the name of a function: lower case '
                                  "letters, digits and -, at most 48 characters"}),
        ({"serverless": {"requestID": "fn", "framework": {"socketPath": "/proc/f"}}},
         {"serverless.framework.socketPath": '"/proc/f" is in a reserved folder of the system'}),
        ({"serverless": {"requestID": "fn"}, "template": {"ports": [{"name": "a", "port": 9809}]}},
         {"template.ports[0].port": '"9809" is reserved for the worker'}),
    ],
)  # fmt: skip
def test_problems_of_nested_fields_are_named_by_their_path(
    fields: dict[str, object], errors: dict[str, str]
) -> None:
    assert errors_of(**fields) == errors


def test_problems_of_different_parts_are_listed_together() -> None:
    template = {"envs": [{"name": "A"}, {"name": "A"}], "ports": [{"name": "X", "port": 0}]}
    assert set(errors_of(name="UP", template=template, labels={"a": "x y"}, extra=1)) == {
        *("name", "template.envs[1].name", "template.ports[0].port", "labels['a']", "extra"),
    }


def test_only_the_configured_namespaces_are_accepted() -> None:
    schema = CreateUnitSchema(RequestLimits(NamespacesConfig(instance="mine", stock="store")))
    schema.parse({**MINIMAL_BODY, "namespace": "mine", "stockNamespace": "store"})
    assert set(field_errors(schema, {**MINIMAL_BODY, "namespace": "runtime-instance"})) == {
        "namespace"
    }
    CreateUnitSchema().parse({**MINIMAL_BODY, "namespace": "runtime-instance"})


def test_the_name_of_a_long_unknown_field_is_truncated() -> None:
    (field,) = errors_of(**{"x" * 1000: 1})
    assert len(field) == 80


def test_a_problem_of_the_template_does_not_hide_other_problems() -> None:
    errors = errors_of(
        name="Bad_Name", colour="red", template=PORTS, access={"primaryPort": "nope"}
    )
    assert set(errors) == {"name", "colour", "access.primaryPort"}


def test_a_problem_of_the_template_does_not_hide_problems_of_the_access() -> None:
    template = {**PORTS, "envs": [{"name": 1}]}
    errors = errors_of(template=template, access={"primaryPort": "nope", "scheme": "gopher"})
    assert set(errors) == {"template.envs[0].name", "access.primaryPort", "access.scheme"}


def test_unreadable_ports_cause_no_error_of_the_access() -> None:
    for template in ({"ports": 7}, {"ports": [{"name": "http"}]}, 7):
        errors = errors_of(template=template, access={"primaryPort": "http"})
        assert not [field for field in errors if field.startswith("access")]


def test_an_access_without_ports_is_listed_with_other_problems() -> None:
    errors = errors_of(image=7, template={"args": 7}, access={})
    assert set(errors) == {"image", "template.args", "access"}


def test_other_problems_do_not_hide_problems_of_a_worker() -> None:
    errors = errors_of(
        image=7,
        serverless={"requestID": "fn"},
        template={"envs": 7, "ports": [{"name": "http", "port": 9809}]},
        storageMounts=[{"name": "data"}],
    )
    assert set(errors) == {
        "image",
        "template.envs",
        "template.ports[0].port",
        "storageMounts[0].mountPath",
    }


def test_an_unreadable_list_item_does_not_hide_problems_of_other_items() -> None:
    envs = [{"name": 1}, {"name": "a"}, {"name": "a"}, 7, {"name": "a=b"}]
    mounts = [{"mountPath": "/x"}, {"name": "data", "mountPath": "/proc"}]
    errors = errors_of(template={"envs": envs}, storageMounts=mounts)
    assert set(errors) == {
        "template.envs[0].name",
        "template.envs[2].name",
        "template.envs[3]",
        "template.envs[4].name",
        "storageMounts[0].name",
        "storageMounts[1].mountPath",
    }


def test_a_label_that_is_not_text_does_not_hide_problems_of_other_labels() -> None:
    errors = errors_of(labels={"a": 7, "b": "ok", "c": "not ok"})
    assert set(errors) == {"labels['a']", "labels['c']"}
