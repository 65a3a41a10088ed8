"""A custom resource whose schema accepts anything, so that undecodable objects can be stored."""

from typing import Any

import msgspec

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta
from hack.cluster.admin_client import AdminClient
from tests.support.builders.pods import condition
from tests.support.wait.eventually import eventually

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class NoteSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The spec that the model expects, and that the schema does not enforce."""

    size: int = 0


class NoteStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status that a controller reports."""

    seen: int = 0


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the custom resource."""

    metadata: ObjectMeta
    spec: NoteSpec = NoteSpec()
    status: NoteStatus = NoteStatus()


NOTES = Kind("tests.local", "v1", "notes", "Note", Note)


def note_manifest(namespace: str, name: str, size: object = 0) -> dict[str, Any]:
    return {
        "apiVersion": NOTES.api_version,
        "kind": NOTES.name,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"size": size},
    }


def note_crd() -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": anything},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "notes.tests.local"},
        "spec": {
            "group": NOTES.group,
            "scope": "Namespaced",
            "names": {
                "plural": "notes",
                "singular": "note",
                "kind": "Note",
                "listKind": "NoteList",
            },
            "versions": [version],
        },
    }


async def install_note_crd(admin: AdminClient) -> None:
    """Install the custom resource, and wait until the server serves it."""
    path = f"{CRDS}/notes.tests.local"
    await admin.apply(path, note_crd())
    await eventually(
        lambda: admin.get(path),
        lambda crd: condition(crd, "Established").get("status") == "True",
    )
