"""Tests of arbitrary JSON bodies: each is parsed or rejected, and none breaks the parser."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marshmallow import ValidationError

from apiserver.errors import ErrorDetail
from apiserver.schemas.request import RequestSchema, error_details
from apiserver.stock_pools.schemas import CreatePoolSchema, PoolSettingsSchema
from apiserver.stock_units.schemas import SeedStockSchema
from apiserver.storages.schemas import CreateStorageSchema
from apiserver.units.schemas import ChangeUnitSchema, CreateUnitSchema

NAMES = st.sampled_from(
    [
        *("operationID", "name", "specName", "image", "template", "access", "storageMounts"),
        *("imagePullSecrets", "labels", "serverless", "requestID", "framework", "envs", "ports"),
        *("command", "args", "value", "valueFrom", "secretKeyRef", "key", "port", "protocol"),
        *("primaryPort", "scheme", "mountPath", "readOnly", "replicas", "memory", "gpu", "cpu"),
        *("nodeSelector", "tolerations", "operator", "effect", "tolerationSeconds", "shmSize"),
        *("prepare", "fromImage", "fromStorageName", "size", "accessor", "enabled"),
        *("_schema", "0", "stockName", "namespace", "maxUnavailable", "gpuResource"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["a", "http", "1Gi", "Exists", "/data", "TCP", ""])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
BODIES = st.dictionaries(NAMES | st.text(max_size=4), VALUES, max_size=8)


@pytest.mark.parametrize(
    "schema",
    [
        CreateUnitSchema(),
        ChangeUnitSchema(),
        CreateStorageSchema(),
        SeedStockSchema(),
        CreatePoolSchema(),
        PoolSettingsSchema(),
    ],
    ids=lambda schema: type(schema).__name__,
)
@settings(max_examples=60)
@given(body=BODIES)
def test_any_body_is_parsed_or_rejected_with_field_and_message(
    schema: RequestSchema[Any], body: dict[str, Any]
) -> None:
    assert all(field and message for field, message in _problems(schema, body))


def _problems(schema: RequestSchema[Any], body: dict[str, Any]) -> tuple[ErrorDetail, ...]:
    try:
        schema.parse(body)
    except ValidationError as error:
        return error_details(error)
    return ()
