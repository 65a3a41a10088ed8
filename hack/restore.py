"""Bring the objects of a backup back: `python3 -m hack.restore FILE...`, while no controller runs.

Only what is missing is made, so it can be run again, and after the loss of a part. What others own
is made anew by its owner: the stock of pools and the workers of functions. A storage gets its claim
back, and with it what was filled, where its volume is still there.
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
    """Writes through kubectl, one step after the other; each can be repeated."""

    def __init__(self, backup: Sequence[Manifest], kubectl: RunKubectl) -> None:
        self._backup = backup
        self._kubectl = kubectl

    def run(self) -> None:
        """Storages with their volumes first, then those that refer to them."""
        wanted = restorable_objects(self._backup)
        there = self._existing(wanted)
        missing = [each for each in wanted if object_identity(each) not in there]
        storages = [each for each in wanted if each["kind"] == "GPUStorage"]
        for storage in storages:
            self._restore_storage(there.get(object_identity(storage)) or self._create(storage))
        others = [each for each in missing if each not in storages]
        if others:
            listed = {"apiVersion": "v1", "kind": "List", "items": others}
            self._kubectl("create", "-f", "-", text=json.dumps(listed))
        print(f"restored {len(missing)} objects")

    def _existing(self, manifests: list[dict[str, Any]]) -> dict[tuple[str, str, str], Manifest]:
        """What of the wanted kinds is there, as it is now."""
        found: list[Manifest] = []
        for kind, namespace in dict.fromkeys(object_identity(each)[:2] for each in manifests):
            found += self._get(f"{PLURALS[kind]}.{GROUP}", "--namespace", namespace)["items"]
        return {object_identity(each): each for each in found}

    def _restore_storage(self, storage: Manifest) -> None:
        """Its status comes before its claim: a storage that is not known as filled is filled."""
        name, namespace = storage["metadata"]["name"], storage["metadata"]["namespace"]
        claim = bound_pvcs(self._backup).get(name)
        if claim is None or self._find("pvc", name, "--namespace", namespace):
            return
        volume_name = claim["spec"]["volumeName"]
        volume = self._find("pv", volume_name)
        if volume is None or not is_volume_free_for(volume, claim):
            state = "gone" if volume is None else "somebody else's"
            print(f"volume {volume_name} is {state}: storage {name} begins empty")
            return
        known = {"status": restored_status(self._backup, storage)}
        where = (f"gpustorages.{GROUP}", name, "--namespace", namespace)
        self._patch(known, *where, "--subresource=status")
        self._patch(claim_ref_patch(claim), "pv", volume_name)
        self._create(owned_pvc(claim, storage))

    def _get(self, *arguments: str) -> Any:
        return json.loads(self._kubectl("get", *arguments, "-o", "json"))

    def _find(self, *arguments: str) -> Manifest | None:
        said = self._kubectl("get", *arguments, "--ignore-not-found", "-o", "json")
        found: Manifest | None = json.loads(said) if said else None
        return found

    def _patch(self, body: Manifest, *arguments: str) -> None:
        self._kubectl("patch", *arguments, "--type=merge", "--patch", json.dumps(body))

    def _create(self, body: Manifest) -> Any:
        return json.loads(self._kubectl("create", "-f", "-", "-o", "json", text=json.dumps(body)))


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
        Restorer(backup, run_kubectl).run()
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
