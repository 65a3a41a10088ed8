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
    KINDS,
    Object,
    claims_of,
    identity,
    is_free_for,
    owned,
    reserved,
    restorable,
    status_of,
)
from shared.v1alpha1.group import GROUP

Kubectl = Callable[..., str]


class Restore:
    """Writes through kubectl, one step after the other; each can be repeated."""

    def __init__(self, backup: Sequence[Object], kubectl: Kubectl) -> None:
        self._backup = backup
        self._kubectl = kubectl

    def run(self) -> None:
        """Storages with their volumes first, then those that refer to them."""
        wanted = restorable(self._backup)
        there = self._existing(wanted)
        missing = [each for each in wanted if identity(each) not in there]
        storages = [each for each in wanted if each["kind"] == "GPUStorage"]
        for storage in storages:
            self._restore_storage(there.get(identity(storage)) or self._create(storage))
        others = [each for each in missing if each not in storages]
        if others:
            listed = {"apiVersion": "v1", "kind": "List", "items": others}
            self._kubectl("create", "-f", "-", text=json.dumps(listed))
        print(f"restored {len(missing)} objects")

    def _existing(self, wanted: list[dict[str, Any]]) -> dict[tuple[str, str, str], Object]:
        """What of the wanted kinds is there, as it is now."""
        found: list[Object] = []
        for kind, namespace in dict.fromkeys(identity(each)[:2] for each in wanted):
            found += self._get(f"{KINDS[kind]}.{GROUP}", "--namespace", namespace)["items"]
        return {identity(each): each for each in found}

    def _restore_storage(self, storage: Object) -> None:
        """Its status comes before its claim: a storage that is not known as filled is filled."""
        name, namespace = storage["metadata"]["name"], storage["metadata"]["namespace"]
        claim = claims_of(self._backup).get(name)
        if claim is None or self._find("pvc", name, "--namespace", namespace):
            return
        volume_name = claim["spec"]["volumeName"]
        volume = self._find("pv", volume_name)
        if volume is None or not is_free_for(volume, claim):
            state = "gone" if volume is None else "somebody else's"
            print(f"volume {volume_name} is {state}: storage {name} begins empty")
            return
        known = {"status": status_of(self._backup, storage)}
        where = (f"gpustorages.{GROUP}", name, "--namespace", namespace)
        self._patch(known, *where, "--subresource=status")
        self._patch(reserved(claim), "pv", volume_name)
        self._create(owned(claim, storage))

    def _get(self, *what: str) -> Any:
        return json.loads(self._kubectl("get", *what, "-o", "json"))

    def _find(self, *what: str) -> Object | None:
        said = self._kubectl("get", *what, "--ignore-not-found", "-o", "json")
        found: Object | None = json.loads(said) if said else None
        return found

    def _patch(self, body: Object, *what: str) -> None:
        self._kubectl("patch", *what, "--type=merge", "--patch", json.dumps(body))

    def _create(self, body: Object) -> Any:
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
        Restore(backup, run_kubectl).run()
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
