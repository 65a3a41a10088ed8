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
    made = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a", colour="red"))
    assert await client.get(CONFIG_MAPS, ObjectKey(namespace, "a")) == made
    deleted = await client.delete(CONFIG_MAPS, ObjectKey(namespace, "a"))
    assert (deleted.remaining, deleted.uid) == (None, made.metadata.uid)
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, ObjectKey(namespace, "a"))


async def test_an_object_with_a_finalizer_remains_after_a_delete(
    client: Client, namespace: str
) -> None:
    body = config_map_manifest(namespace, "held")
    body["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(CONFIG_MAPS, body)
    deleted = await client.delete(CONFIG_MAPS, ObjectKey(namespace, "held"))
    assert deleted.remaining is not None
    assert deleted.remaining.metadata.deletion_timestamp
    released = {"metadata": {"finalizers": None}}
    await client.patch(CONFIG_MAPS, ObjectKey(namespace, "held"), released)


async def test_a_kind_that_is_shown_once_more_when_it_is_deleted_counts_as_gone(
    client: Client, namespace: str
) -> None:
    made = await client.create(
        SERVICE_ACCOUNTS, {"metadata": {"namespace": namespace, "name": "a"}}
    )
    deleted = await client.delete(SERVICE_ACCOUNTS, ObjectKey(namespace, "a"))
    assert (deleted.remaining, deleted.uid) == (None, made.metadata.uid)


async def test_already_exists_is_told_from_a_conflict(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a"))
    with pytest.raises(AlreadyExistsError):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a"))
    key = ObjectKey(namespace, "a")
    await client.patch(CONFIG_MAPS, key, {"data": {"x": "1"}})
    stale = {"metadata": {"resourceVersion": made.metadata.resource_version}, "data": {"x": "2"}}
    with pytest.raises(ConflictError):
        await client.patch(CONFIG_MAPS, key, stale)
    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAPS, key, Preconditions(uid="another"))
    with pytest.raises(ConflictError):
        await client.delete(
            CONFIG_MAPS, key, Preconditions(resource_version=made.metadata.resource_version)
        )


async def test_apply_owns_its_fields_and_leaves_those_of_others(
    client: Client, namespace: str
) -> None:
    key = ObjectKey(namespace, "shared")
    await client.apply(CONFIG_MAPS, config_map_manifest(namespace, "shared", ours="1", also="1"))
    await client.patch(CONFIG_MAPS, key, {"data": {"theirs": "1", "ours": "changed"}})
    applied = await client.apply(CONFIG_MAPS, config_map_manifest(namespace, "shared", ours="2"))
    assert applied.data == {"ours": "2", "theirs": "1"}


async def test_apply_without_force_takes_nothing_from_others(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, config_map_manifest(namespace, "theirs", a="1"))
    with pytest.raises(ConflictError):
        await client.apply(
            CONFIG_MAPS, config_map_manifest(namespace, "theirs", a="2"), force=False
        )
    assert await client.get(CONFIG_MAPS, ObjectKey(namespace, "theirs")) == made
    ours = config_map_manifest(namespace, "ours", a="1")
    await client.apply(CONFIG_MAPS, ours, force=False)
    assert (await client.apply(CONFIG_MAPS, ours, force=False)).data == {"a": "1"}


async def test_errors_say_what_can_be_done_about_them(
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


async def test_a_continue_token_that_is_nonsense_is_refused(client: Client, namespace: str) -> None:
    with pytest.raises((InvalidError, ExpiredError)):
        await client.list(CONFIG_MAPS, namespace, {"limit": "1", "continue": "nonsense"})


async def test_a_list_comes_in_pages_where_a_limit_is_given(client: Client, namespace: str) -> None:
    for number in range(3):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, f"n{number}"))
    first = await client.list(CONFIG_MAPS, namespace, {"limit": "2"})
    rest = await client.list(
        CONFIG_MAPS, namespace, {"limit": "2", "continue": first.continue_token}
    )
    names = [found.metadata.name for found in [*first.items, *rest.items]]
    assert {"n0", "n1", "n2"} <= set(names)
    assert len(first.items) == 2
