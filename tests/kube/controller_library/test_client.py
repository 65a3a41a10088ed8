"""The library's client against a real API server: verbs, preconditions, typed errors."""

import pytest

from controller.runtime.client.client import Client, Preconditions
from controller.runtime.client.kind import Kind
from controller.runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ResourceVersionTooLargeError,
)
from controller.runtime.key import ObjectKey
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import (
    CONFIG_MAPS,
    ConfigMap,
    config_map_manifest,
    connect_client,
)

MISSING_KIND = Kind("nowhere.example", "v1", "things", "Thing", ConfigMap)
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount", ConfigMap)


async def test_a_created_object_can_be_read_and_deleted(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a", colour="red"))
    assert await client.get(CONFIG_MAPS, ObjectKey(namespace, "a")) == created
    deleted = await client.delete(CONFIG_MAPS, ObjectKey(namespace, "a"))
    assert (deleted.remaining, deleted.uid) == (None, created.metadata.uid)
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, ObjectKey(namespace, "a"))


async def test_an_object_with_a_finalizer_remains_after_a_delete(
    client: Client, namespace: str
) -> None:
    body = config_map_manifest(namespace, "finalized")
    body["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(CONFIG_MAPS, body)
    deleted = await client.delete(CONFIG_MAPS, ObjectKey(namespace, "finalized"))
    assert deleted.remaining is not None
    assert deleted.remaining.metadata.deletion_timestamp
    released = {"metadata": {"finalizers": None}}
    await client.patch(CONFIG_MAPS, ObjectKey(namespace, "finalized"), released)


async def test_a_deleted_object_that_the_response_still_shows_does_not_remain(
    client: Client, namespace: str
) -> None:
    created = await client.create(
        SERVICE_ACCOUNTS, {"metadata": {"namespace": namespace, "name": "a"}}
    )
    deleted = await client.delete(SERVICE_ACCOUNTS, ObjectKey(namespace, "a"))
    assert (deleted.remaining, deleted.uid) == (None, created.metadata.uid)


async def test_already_exists_and_conflict_are_different_errors(
    client: Client, namespace: str
) -> None:
    created = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a"))
    with pytest.raises(AlreadyExistsError):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a"))
    key = ObjectKey(namespace, "a")
    await client.patch(CONFIG_MAPS, key, {"data": {"x": "1"}})
    stale = {"metadata": {"resourceVersion": created.metadata.resource_version}, "data": {"x": "2"}}
    with pytest.raises(ConflictError):
        await client.patch(CONFIG_MAPS, key, stale)
    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAPS, key, Preconditions(uid="another"))
    with pytest.raises(ConflictError):
        await client.delete(
            CONFIG_MAPS, key, Preconditions(resource_version=created.metadata.resource_version)
        )


async def test_apply_owns_its_fields_and_keeps_the_fields_of_other_managers(
    client: Client, namespace: str
) -> None:
    key = ObjectKey(namespace, "shared")
    await client.apply(CONFIG_MAPS, config_map_manifest(namespace, "shared", ours="1", also="1"))
    await client.patch(CONFIG_MAPS, key, {"data": {"theirs": "1", "ours": "changed"}})
    applied = await client.apply(CONFIG_MAPS, config_map_manifest(namespace, "shared", ours="2"))
    assert applied.data == {"ours": "2", "theirs": "1"}


async def test_apply_without_force_conflicts_with_another_manager(
    client: Client, namespace: str
) -> None:
    created = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "theirs", a="1"))
    with pytest.raises(ConflictError):
        await client.apply(
            CONFIG_MAPS, config_map_manifest(namespace, "theirs", a="2"), force=False
        )
    assert await client.get(CONFIG_MAPS, ObjectKey(namespace, "theirs")) == created
    ours = config_map_manifest(namespace, "ours", a="1")
    await client.apply(CONFIG_MAPS, ours, force=False)
    assert (await client.apply(CONFIG_MAPS, ours, force=False)).data == {"a": "1"}


async def test_error_responses_raise_typed_errors(
    client: Client, installed_control_plane: ControlPlane, namespace: str
) -> None:
    with pytest.raises(NotFoundError, match="404"):
        await client.list(MISSING_KIND)
    with pytest.raises(InvalidError, match=r"metadata\.name"):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "Not A Name"))
    async with connect_client(
        installed_control_plane.layout.kubeconfig("controller")
    ) as unprivileged:
        with pytest.raises(ForbiddenError, match="secrets"):
            await unprivileged.list(Kind("", "v1", "secrets", "Secret", ConfigMap))


async def test_a_future_resource_version_raises_version_too_large(
    client: Client, namespace: str
) -> None:
    future = {"resourceVersion": "999999999", "resourceVersionMatch": "NotOlderThan"}
    with pytest.raises(ResourceVersionTooLargeError):
        await client.list(CONFIG_MAPS, namespace, future)


async def test_an_invalid_continue_token_is_refused(client: Client, namespace: str) -> None:
    with pytest.raises((InvalidError, ExpiredError)):
        await client.list(CONFIG_MAPS, namespace, {"limit": "1", "continue": "invalid"})


async def test_a_list_with_a_limit_is_paged(client: Client, namespace: str) -> None:
    for number in range(3):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, f"n{number}"))
    first = await client.list(CONFIG_MAPS, namespace, {"limit": "2"})
    second = await client.list(
        CONFIG_MAPS, namespace, {"limit": "2", "continue": first.continue_token}
    )
    names = [item.metadata.name for item in [*first.items, *second.items]]
    assert {"n0", "n1", "n2"} <= set(names)
    assert len(first.items) == 2
