"""Random scripts of calls, and what is told of their answers: the same on any right server."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import GPU_UNITS
from shared.v1alpha1.gpuunit import GPUUnit

EVERYTHING = Selection()
NAMES = ("a", "b", "c")
LABELS = ("", "!claimed", "claimed", "claimed=true", "claimed=true,pool=x")
FIELDS = (
    "",
    "spec.specName=g1.1",
    "status.phase=Ready",
    "status.phase!=Ready",
    "spec.specName=g1.2,status.phase!=Ready,status.phase!=Failed",
)
SPEC = {"specName": "g1.1", "memory": "1Gi", "gpu": 1, "gpuResource": "nvidia.com/gpu"}


@dataclass(frozen=True)
class Step:
    """One call; `uid` and `version` tell which of those seen so far it is conditional on."""

    verb: str
    name: str
    body: dict[str, Any]
    subresource: str = ""
    selection: Selection = EVERYTHING
    uid: str = ""
    version: str = ""


def script_of(seed: int, length: int) -> list[Step]:
    randomness = Random(seed)
    verbs = ("get", "list", "create", "create", "patch", "patch", "patch", "delete")
    return [step(randomness, randomness.choice(verbs)) for _ in range(length)]


def step(randomness: Random, verb: str) -> Step:
    choose = randomness.choice
    subresource = choose(("", "", "status")) if verb == "patch" else ""
    body = {"create": new_body, "patch": change}.get(verb, nothing)(randomness)
    selection = Selection(choose(LABELS), choose(FIELDS), choose((0, 0, 1, 2)))
    conditions = ("", "", "newest", "newest", "oldest")
    return Step(
        verb, choose(NAMES), body, subresource, selection, choose(conditions), choose(conditions)
    )


def nothing(_: Random) -> dict[str, Any]:
    return {}


def new_body(randomness: Random) -> dict[str, Any]:
    """Also with a status, which the server drops."""
    spec = {**SPEC, "specName": randomness.choice(("g1.1", "g1.2"))}
    labels = randomness.choice(({}, {"claimed": "true"}, {"claimed": "true", "pool": "x"}))
    return {"metadata": {"labels": labels}, "spec": spec, "status": {"phase": "Failed"}}


def change(randomness: Random) -> dict[str, Any]:
    """Often one that changes nothing, or takes away what is not there."""
    metadata: dict[str, Any] = {
        "labels": {randomness.choice(("claimed", "pool")): randomness.choice(("true", "x", None))},
        "annotations": {"note": randomness.choice(("1", "2", None))},
        "ownerReferences": randomness.choice(([], None)),
    }
    spec: dict[str, Any] = {
        "gpu": randomness.choice((1, 2)),
        "image": randomness.choice(("x:1", None)),
        "template": randomness.choice(({"command": ["a"], "args": None}, {"args": None}, None)),
        "nodeSelector": randomness.choice(({"zone": "a"}, {"zone": None}, None)),
    }
    status: dict[str, Any] = {
        "phase": randomness.choice(("Ready", "Failed", "Progressing", None)),
        "nodeName": randomness.choice(("n", None)),
        "conditions": randomness.choice(([], None)),
    }
    parts = {"metadata": metadata, "spec": spec, "status": status}
    return {
        name: {key: part[key] for key in part if randomness.random() < 0.4}
        for name, part in parts.items()
        if randomness.random() < 0.7
    }


class Player:
    """Plays a script; uids and versions are told as the how-manieth that were seen."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._objects = objects
        self._namespace = namespace
        self._uids: list[str] = []
        self._versions: list[str] = []
        self._seen: dict[str, list[tuple[str, str]]] = {}

    async def play(self, steps: Sequence[Step]) -> list[Any]:
        return [await self._answer(each) for each in steps]

    async def _answer(self, step: Step) -> Any:
        try:
            return await self._call(step)
        except kube_errors.ClusterError as error:
            return type(error).__name__

    async def _call(self, step: Step) -> Any:
        place = (GPU_UNITS, self._namespace, step.name)
        uid, version = (
            self._seen_as(step.name, step.uid, 0),
            self._seen_as(step.name, step.version, 1),
        )
        match step.verb:
            case "get":
                return self._told(await self._objects.get(*place))
            case "list":
                page = await self._objects.list(GPU_UNITS, self._namespace, step.selection)
                return [self._told(each) for each in page.items]
            case "create":
                body = {**step.body, "metadata": {**step.body["metadata"], "name": step.name}}
                made = await self._objects.create(GPU_UNITS, self._namespace, body)
                return self._told(made)
            case "patch":
                given = {"uid": uid, "resourceVersion": version}
                condition = {name: value for name, value in given.items() if value}
                body = {**step.body, "metadata": {**step.body.get("metadata", {}), **condition}}
                return self._told(await self._objects.patch(*place, body, step.subresource))
        return await self._objects.delete(*place, uid=uid, resource_version=version)

    def _seen_as(self, name: str, which: str, part: int) -> str:
        seen = self._seen.get(name)
        if not which or not seen:
            return ""
        return seen[-1 if which == "newest" else 0][part]

    def _told(self, unit: GPUUnit) -> dict[str, Any]:
        """All of the object, in numbers that do not depend on the server."""
        meta = unit.metadata
        self._seen.setdefault(meta.name, []).append((meta.uid, meta.resource_version))
        told: dict[str, Any] = msgspec.to_builtins(unit)
        told["metadata"] |= {
            "uid": number(self._uids, meta.uid),
            "resourceVersion": number(self._versions, meta.resource_version),
            "namespace": "",
            "creationTimestamp": "",
        }
        return told


def number(seen: list[str], value: str) -> int:
    if value not in seen:
        seen.append(value)
    return seen.index(value)
