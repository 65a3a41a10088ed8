"""What release 0.1.0 had written when its process died, put into a real API server."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from shared.v1alpha1.group import API_VERSION
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.unit.golden.data import Case
from tests.unit.golden.recorded_api import RESOURCES


class GoldenSite:
    """Carries out the writes of one case, in the namespaces and with the uids of a site."""

    def __init__(self, site: IsolatedInstallation) -> None:
        self._site = site
        names = site.namespaces
        self._known = {
            "runtime-stock": names.stock,
            "runtime-instance": names.instance,
            "runtime-system": names.system,
        }

    def here(self, value: Any) -> Any:
        """The same with the namespaces and uids of the site."""
        words = "|".join(sorted(self._known, key=len, reverse=True))
        return json.loads(
            re.sub(rf"({words})(?![\w-])", self._translated, json.dumps(value, ensure_ascii=False))
        )

    async def leave(self, case: Case, count: int) -> None:
        """Put what there was, and the first writes for the request."""
        await self._put(case.given.get("found", ()), "create")
        for each in case.made["writes"][:count]:
            await self._put([each], each["verb"])

    async def _put(self, writes: Iterable[Mapping[str, Any]], verb: str) -> None:
        for each in writes:
            plural, place, *part = each["at"].split(" ")
            namespace, name = self.here(place).split("/")
            path = self._site.path(plural, name, namespace=namespace)
            body = self.here(each["body"])
            body["metadata"] = body.get("metadata", {}) | self._owners(body)
            if verb == "patch":
                await self._site.admin.patch("/".join([path, *part]), unconditional(body))
                continue
            kind = {"apiVersion": API_VERSION, "kind": RESOURCES[plural].kind}
            made = await self._site.create(plural, kind | body, namespace=namespace)
            self._known[f"uid-{len(self._known) - 2}"] = made["metadata"]["uid"]
            if "status" in body:
                await self._site.admin.patch(f"{path}/status", {"status": body["status"]})

    def _owners(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The owners that there are: what has others is collected as garbage."""
        given = body.get("metadata", {}).get("ownerReferences")
        there = set(self._known.values())
        return {} if given is None else {"ownerReferences": [o for o in given if o["uid"] in there]}

    def _translated(self, found: re.Match[str]) -> str:
        return self._known[found[1]]


def unconditional(body: Mapping[str, Any]) -> dict[str, Any]:
    """The write for whatever version there is: versions of a model are none of a server."""
    meta = dict(body["metadata"])
    meta.pop("resourceVersion", None)
    return {**body, "metadata": meta}
