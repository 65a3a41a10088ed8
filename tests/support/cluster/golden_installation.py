"""The writes of release 0.1.0 up to a crash, repeated on a real API server."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from shared.v1alpha1.group import API_VERSION
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.unit.golden.data import Case
from tests.unit.golden.recorded_api import RESOURCES


class GoldenInstallation:
    """An installation that repeats recorded writes, with its own namespaces and uids."""

    def __init__(self, installation: IsolatedInstallation) -> None:
        self._installation = installation
        names = installation.namespaces
        self._replacements = {
            "runtime-stock": names.stock,
            "runtime-instance": names.instance,
            "runtime-system": names.system,
        }

    def localized(self, value: Any) -> Any:
        """Replace recorded namespaces and uids with those of the installation."""
        recorded = "|".join(sorted(self._replacements, key=len, reverse=True))
        return json.loads(
            re.sub(
                rf"({recorded})(?![\w-])", self._replacement, json.dumps(value, ensure_ascii=False)
            )
        )

    async def write_before_crash(self, case: Case, count: int) -> None:
        """Create the objects that the case starts from, and repeat its first `count` writes."""
        await self._write_all(case.given.get("found", ()), "create")
        for write in case.made["writes"][:count]:
            await self._write_all([write], write["verb"])

    async def _write_all(self, writes: Iterable[Mapping[str, Any]], verb: str) -> None:
        for write in writes:
            plural, recorded_path, *subresource = write["at"].split(" ")
            namespace, name = self.localized(recorded_path).split("/")
            path = self._installation.path(plural, name, namespace=namespace)
            body = self.localized(write["body"])
            body["metadata"] = body.get("metadata", {}) | self._existing_owners(body)
            if verb == "patch":
                await self._installation.admin.patch(
                    "/".join([path, *subresource]), without_resource_version(body)
                )
                continue
            kind = {"apiVersion": API_VERSION, "kind": RESOURCES[plural].kind}
            created = await self._installation.create(plural, kind | body, namespace=namespace)
            self._replacements[f"uid-{len(self._replacements) - 2}"] = created["metadata"]["uid"]
            if "status" in body:
                await self._installation.admin.patch(f"{path}/status", {"status": body["status"]})

    def _existing_owners(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the owners that exist: objects without an existing owner are garbage collected."""
        owners = body.get("metadata", {}).get("ownerReferences")
        uids = set(self._replacements.values())
        return (
            {}
            if owners is None
            else {"ownerReferences": [owner for owner in owners if owner["uid"] in uids]}
        )

    def _replacement(self, match: re.Match[str]) -> str:
        return self._replacements[match[1]]


def without_resource_version(body: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the precondition: a recorded version is not one of this server."""
    meta = dict(body["metadata"])
    meta.pop("resourceVersion", None)
    return {**body, "metadata": meta}
