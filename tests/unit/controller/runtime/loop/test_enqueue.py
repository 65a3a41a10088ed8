"""Tests of enqueueing: the keys that a change of an object enqueues."""

from collections.abc import Iterable

import msgspec

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta, OwnerReference
from controller.runtime.key import ObjectKey
from controller.runtime.loop.enqueue import mapped_keys, own_key, owner_keys


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """Object with metadata only."""

    metadata: ObjectMeta


SETS = Kind("apps", "v1", "sets", "Set", Thing)
CLUSTERS = Kind("apps", "v1", "clusters", "Cluster", Thing, namespaced=False)


def new_thing(*owners: OwnerReference, name: str = "thing", **labels: str) -> Thing:
    metadata = ObjectMeta(namespace="here", name=name, owner_references=owners, labels=labels)
    return Thing(metadata=metadata)


def owned_by(
    name: str, kind: str = "Set", api_version: str = "apps/v1", controller: bool = True
) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=name, controller=controller)


class TestOwnKey:
    def test_an_added_changed_or_deleted_object_enqueues_its_own_key(self) -> None:
        thing = new_thing()
        for change in ((None, thing), (thing, thing), (thing, None)):
            assert own_key()(*change) == (ObjectKey("here", "thing"),)

    def test_a_notification_without_an_object_enqueues_nothing(self) -> None:
        assert own_key()(None, None) == ()


class TestOwnerKeys:
    def test_the_controlling_owner_is_enqueued_in_the_namespace_of_the_dependent(self) -> None:
        assert owner_keys(SETS)(None, new_thing(owned_by("a"))) == (ObjectKey("here", "a"),)

    def test_a_deleted_dependent_enqueues_its_owner(self) -> None:
        assert owner_keys(SETS)(new_thing(owned_by("a")), None) == (ObjectKey("here", "a"),)

    def test_the_old_and_the_new_owner_are_enqueued_when_the_owner_changes(self) -> None:
        keys = owner_keys(SETS)(new_thing(owned_by("old")), new_thing(owned_by("new")))
        assert keys == (ObjectKey("here", "old"), ObjectKey("here", "new"))

    def test_an_unchanged_owner_is_enqueued_once(self) -> None:
        thing = new_thing(owned_by("a"))
        assert owner_keys(SETS)(thing, thing) == (ObjectKey("here", "a"),)

    def test_the_version_of_the_owner_does_not_matter(self) -> None:
        assert owner_keys(SETS)(None, new_thing(owned_by("a", api_version="apps/v1beta1")))

    def test_owners_of_another_kind_or_group_are_not_enqueued(self) -> None:
        others = (
            owned_by("a", kind="Other"),
            owned_by("b", api_version="other/v1"),
            owned_by("c", api_version="v1"),
            owned_by("d", api_version="not/an/apiVersion"),
        )
        assert owner_keys(SETS)(None, new_thing(*others)) == ()

    def test_owners_that_are_not_the_controller_are_enqueued_only_without_controller_only(
        self,
    ) -> None:
        thing = new_thing(owned_by("a"), owned_by("b", controller=False))
        assert owner_keys(SETS)(None, thing) == (ObjectKey("here", "a"),)
        all_keys = owner_keys(SETS, controller_only=False)(None, thing)
        assert all_keys == (ObjectKey("here", "a"), ObjectKey("here", "b"))

    def test_a_cluster_scoped_owner_is_enqueued_without_a_namespace(self) -> None:
        thing = new_thing(owned_by("a", kind="Cluster"))
        assert owner_keys(CLUSTERS)(None, thing) == (ObjectKey("", "a"),)

    def test_an_object_without_owners_enqueues_nothing(self) -> None:
        assert owner_keys(SETS)(None, new_thing()) == ()


def labelled(thing: Thing) -> Iterable[ObjectKey]:
    """Yield the key that the label `for` names."""
    if name := thing.metadata.labels.get("for"):
        yield ObjectKey("there", name)


class TestMappedKeys:
    def test_the_old_and_the_new_target_of_an_object_are_enqueued(self) -> None:
        keys = mapped_keys(labelled)(new_thing(**{"for": "old"}), new_thing(**{"for": "new"}))
        assert keys == (ObjectKey("there", "old"), ObjectKey("there", "new"))

    def test_a_key_of_both_states_is_enqueued_once(self) -> None:
        thing = new_thing(**{"for": "same"})
        assert mapped_keys(labelled)(thing, thing) == (ObjectKey("there", "same"),)

    def test_added_and_deleted_objects_are_mapped_too(self) -> None:
        thing = new_thing(**{"for": "it"})
        assert mapped_keys(labelled)(None, thing) == mapped_keys(labelled)(thing, None)

    def test_an_object_without_mapped_keys_enqueues_nothing(self) -> None:
        assert mapped_keys(labelled)(None, new_thing()) == ()
        assert mapped_keys(labelled)(None, None) == ()
