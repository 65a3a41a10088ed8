"""Bring the objects of a backup back: `python3 -m hack.restore FILE...`, while no controller runs.

What others own is made anew by its owner: the stock of pools and the workers of functions. A
storage gets its claim back, and with it what was filled, where its volume is still there.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shared import wellknown
from shared.v1alpha1.group import GROUP

Object = Mapping[str, Any]
Kubectl = Callable[..., str]

# Those that others refer to come first.
KINDS = ("StockPool", "GPUStorage", "Function", "GPUUnit")
# A lock names the uid of its unit, which is another one after the restore.
FORGOTTEN = (wellknown.MOUNTED_BY, "kubectl.kubernetes.io/last-applied-configuration")


def restorable(backup: Iterable[Object]) -> list[dict[str, Any]]:
    """What people asked for, without what a server had added to it."""
    kept = [each for each in backup if each["kind"] in KINDS and not has_owner(each)]
    ordered = sorted(kept, key=lambda each: KINDS.index(each["kind"]))
    return [bare(each, each["spec"]) for each in ordered]


def has_owner(subject: Object) -> bool:
    return bool(subject["metadata"].get("ownerReferences"))


def bare(subject: Object, spec: Object) -> dict[str, Any]:
    """The object as it is created."""
    meta = subject["metadata"]
    notes = {k: v for k, v in meta.get("annotations", {}).items() if k not in FORGOTTEN}
    return {
        "apiVersion": subject["apiVersion"],
        "kind": subject["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": meta.get("labels", {}),
            "annotations": notes,
        },
        "spec": spec,
    }


def claims_of(backup: Iterable[Object]) -> dict[str, Object]:
    """The bound claims of storages, by the name of their volume."""
    return {
        each["spec"]["volumeName"]: each
        for each in backup
        if each["kind"] == "PersistentVolumeClaim"
        and each["spec"].get("volumeName")
        and any(
            owner["kind"] == "GPUStorage" for owner in each["metadata"].get("ownerReferences", ())
        )
    }


def owned(claim: Object, storage: Object) -> dict[str, Any]:
    """The claim of an old volume for a storage as it is now."""
    kept = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName")
    body = bare(claim, {key: claim["spec"][key] for key in kept if key in claim["spec"]})
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": storage["apiVersion"],
            "kind": storage["kind"],
            "name": storage["metadata"]["name"],
            "uid": storage["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    return body


def filling_of(backup: Iterable[Object], storage: Object) -> Object | None:
    """How the storage was filled, if it was."""
    name = storage["metadata"]["name"]
    found = [s for s in backup if (s["kind"], s["metadata"]["name"]) == ("GPUStorage", name)]
    prepare: Object | None = found[0].get("status", {}).get("prepare")
    return prepare


def restore(backup: list[Object], kubectl: Kubectl) -> None:
    """Objects first, then the claims of their volumes, then what was filled."""
    objects = restorable(backup)
    kubectl("create", "-f", "-", text=json.dumps(listed(objects)))
    for volume, claim in claims_of(backup).items():
        where = ("--namespace", claim["metadata"]["namespace"])
        if not kubectl("get", "pv", volume, "--ignore-not-found", "-o", "name"):
            print(f"volume {volume} is gone: storage {claim['metadata']['name']} begins empty")
            continue
        kind = f"gpustorages.{GROUP}"
        name = claim["metadata"]["name"]
        storage = json.loads(kubectl("get", kind, name, *where, "-o", "json"))
        kubectl("patch", "pv", volume, "--type=merge", "--patch", '{"spec": {"claimRef": null}}')
        kubectl("create", "-f", "-", text=json.dumps(owned(claim, storage)))
        if prepare := filling_of(backup, storage):
            patch = json.dumps({"status": {"prepare": prepare}})
            status = ("--subresource=status", "--type=merge", "--patch", patch)
            kubectl("patch", kind, name, *where, *status)
    print(f"restored {len(objects)} objects")


def listed(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def run_kubectl(*arguments: str, text: str | None = None) -> str:
    """What kubectl of the PATH says; it says itself what went wrong."""
    command = ("kubectl", *arguments)
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def main(files: list[str]) -> int:
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    backup = [item for name in files for item in json.loads(Path(name).read_text())["items"]]
    try:
        restore(backup, run_kubectl)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
