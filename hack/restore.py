"""Restore the objects of a backup: `python3 -m hack.restore FILE...`, while no controller runs.

Only missing objects are created, so it can be repeated, also after a partial loss. Owned objects
are recreated by their owners: the stock of pools and the workers of functions. A storage gets its
PVC back, and with it its files, if its volume still exists.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hack.backup import (
    PLURALS,
    Manifest,
    bound_pvcs,
    claim_ref_patch,
    is_volume_free_for,
    object_identity,
    owned_pvc,
    restorable_objects,
    restored_status,
)
from shared.v1alpha1.group import GROUP

RunKubectl = Callable[..., str]


class Restorer:
    """A restorer of objects through kubectl, step by step; each step can be repeated."""

    def __init__(self, backup: Sequence[Manifest], kubectl: RunKubectl) -> None:
        self._backup = backup
        self._kubectl = kubectl

    def run(self) -> None:
        """Restore storages with their volumes first, then the objects that refer to them."""
        manifests = restorable_objects(self._backup)
        existing = self._existing(manifests)
        missing = [item for item in manifests if object_identity(item) not in existing]
        storages = [item for item in manifests if item["kind"] == "GPUStorage"]
        for storage in storages:
            self._restore_storage(existing.get(object_identity(storage)) or self._create(storage))
        others = [item for item in missing if item not in storages]
        if others:
            listed = {"apiVersion": "v1", "kind": "List", "items": others}
            self._kubectl("create", "-f", "-", text=json.dumps(listed))
        print(f"restored {len(missing)} objects")

    def _existing(self, manifests: list[dict[str, Any]]) -> dict[tuple[str, str, str], Manifest]:
        """Return the existing objects of the same kinds and namespaces."""
        existing: list[Manifest] = []
        for kind, namespace in dict.fromkeys(object_identity(item)[:2] for item in manifests):
            existing += self._get(f"{PLURALS[kind]}.{GROUP}", "--namespace", namespace)["items"]
        return {object_identity(item): item for item in existing}

    def _restore_storage(self, storage: Manifest) -> None:
        """Write the status before the PVC: a storage without a prepare status is prepared again."""
        name, namespace = storage["metadata"]["name"], storage["metadata"]["namespace"]
        pvc = bound_pvcs(self._backup).get(name)
        if pvc is None or self._find("pvc", name, "--namespace", namespace):
            return
        volume_name = pvc["spec"]["volumeName"]
        volume = self._find("pv", volume_name)
        if volume is None or not is_volume_free_for(volume, pvc):
            state = "missing" if volume is None else "used by another PVC"
            print(f"volume {volume_name} is {state}: storage {name} starts empty")
            return
        status = {"status": restored_status(self._backup, storage)}
        arguments = (f"gpustorages.{GROUP}", name, "--namespace", namespace)
        self._patch(status, *arguments, "--subresource=status")
        self._patch(claim_ref_patch(pvc), "pv", volume_name)
        self._create(owned_pvc(pvc, storage))

    def _get(self, *arguments: str) -> Any:
        return json.loads(self._kubectl("get", *arguments, "-o", "json"))

    def _find(self, *arguments: str) -> Manifest | None:
        output = self._kubectl("get", *arguments, "--ignore-not-found", "-o", "json")
        manifest: Manifest | None = json.loads(output) if output else None
        return manifest

    def _patch(self, body: Manifest, *arguments: str) -> None:
        self._kubectl("patch", *arguments, "--type=merge", "--patch", json.dumps(body))

    def _create(self, body: Manifest) -> Any:
        return json.loads(self._kubectl("create", "-f", "-", "-o", "json", text=json.dumps(body)))


def run_kubectl(*arguments: str, text: str | None = None) -> str:
    """Run kubectl from PATH, and return its output; it prints its errors itself."""
    command = ("kubectl", *arguments)
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def main(files: list[str]) -> int:
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    backup = [item for name in files for item in json.loads(Path(name).read_text())["items"]]
    try:
        Restorer(backup, run_kubectl).run()
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
