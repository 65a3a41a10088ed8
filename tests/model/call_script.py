"""Random scripts of calls, and their normalised results: equal on every correct server."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import GPU_UNITS
from shared.v1alpha1.gpuunit import GPUUnit

ALL_OBJECTS = ListOptions()
NAMES = ("a", "b", "c")
LABEL_SELECTORS = ("", "!claimed", "claimed", "claimed=true", "claimed=true,pool=x")
FIELD_SELECTORS = (
    "",
    "spec.specName=g1.1",
    "status.phase=Ready",
    "status.phase!=Ready",
    "spec.specName=g1.2,status.phase!=Ready,status.phase!=Failed",
)
SPEC = {"specName": "g1.1", "memory": "1Gi", "gpu": 1, "gpuResource": "nvidia.com/gpu"}


@dataclass(frozen=True)
class CallStep:
    """One call; its preconditions name the newest or oldest uid and version that were seen."""

    verb: str
    name: str
    body: dict[str, Any]
    subresource: str = ""
    selection: ListOptions = ALL_OBJECTS
    uid_precondition: str = ""
    version_precondition: str = ""


def random_script(seed: int, length: int) -> list[CallStep]:
    randomness = Random(seed)
    verbs = ("get", "list", "create", "create", "patch", "patch", "patch", "delete")
    return [random_step(randomness, randomness.choice(verbs)) for _ in range(length)]


def random_step(randomness: Random, verb: str) -> CallStep:
    choose = randomness.choice
    subresource = choose(("", "", "status")) if verb == "patch" else ""
    body = {"create": random_new_body, "patch": random_change}.get(verb, empty_body)(randomness)
    selection = ListOptions(choose(LABEL_SELECTORS), choose(FIELD_SELECTORS), choose((0, 0, 1, 2)))
    conditions = ("", "", "newest", "newest", "oldest")
    return CallStep(
        verb, choose(NAMES), body, subresource, selection, choose(conditions), choose(conditions)
    )


def empty_body(_: Random) -> dict[str, Any]:
    return {}


def random_new_body(randomness: Random) -> dict[str, Any]:
    """Draw the body of a create, with a status, which the server drops."""
    spec = {**SPEC, "specName": randomness.choice(("g1.1", "g1.2"))}
    labels = randomness.choice(({}, {"claimed": "true"}, {"claimed": "true", "pool": "x"}))
    return {"metadata": {"labels": labels}, "spec": spec, "status": {"phase": "Failed"}}


def random_change(randomness: Random) -> dict[str, Any]:
    """Draw a patch that often changes nothing, or removes a missing field."""
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


class ScriptRunner:
    """A runner of scripts; results have numbers in place of uids and versions."""

    def __init__(self, gateway: ObjectClient, namespace: str) -> None:
        self._gateway = gateway
        self._namespace = namespace
        self._uids: list[str] = []
        self._versions: list[str] = []
        self._seen_identities: dict[str, list[tuple[str, str]]] = {}

    async def run(self, steps: Sequence[CallStep]) -> list[Any]:
        return [await self._run_step(step) for step in steps]

    async def _run_step(self, step: CallStep) -> Any:
        try:
            return await self._call(step)
        except kube_errors.KubeError as error:
            return type(error).__name__

    async def _call(self, step: CallStep) -> Any:
        path = (GPU_UNITS, self._namespace, step.name)
        uid, version = (
            self._seen_identity(step.name, step.uid_precondition, 0),
            self._seen_identity(step.name, step.version_precondition, 1),
        )
        match step.verb:
            case "get":
                return self._normalised(await self._gateway.get(*path))
            case "list":
                page = await self._gateway.list(GPU_UNITS, self._namespace, step.selection)
                return [self._normalised(unit) for unit in page.items]
            case "create":
                body = {**step.body, "metadata": {**step.body["metadata"], "name": step.name}}
                created = await self._gateway.create(GPU_UNITS, self._namespace, body)
                return self._normalised(created)
            case "patch":
                preconditions = {"uid": uid, "resourceVersion": version}
                present = {name: value for name, value in preconditions.items() if value}
                body = {**step.body, "metadata": {**step.body.get("metadata", {}), **present}}
                return self._normalised(await self._gateway.patch(*path, body, step.subresource))
        return await self._gateway.delete(*path, uid=uid, resource_version=version)

    def _seen_identity(self, name: str, age: str, index: int) -> str:
        seen = self._seen_identities.get(name)
        if not age or not seen:
            return ""
        return seen[-1 if age == "newest" else 0][index]

    def _normalised(self, unit: GPUUnit) -> dict[str, Any]:
        """Return the whole object, with numbers in place of the server's identifiers."""
        meta = unit.metadata
        self._seen_identities.setdefault(meta.name, []).append((meta.uid, meta.resource_version))
        document: dict[str, Any] = msgspec.to_builtins(unit)
        document["metadata"] |= {
            "uid": index_of(self._uids, meta.uid),
            "resourceVersion": index_of(self._versions, meta.resource_version),
            "namespace": "",
            "creationTimestamp": "",
        }
        return document


def index_of(seen: list[str], value: str) -> int:
    if value not in seen:
        seen.append(value)
    return seen.index(value)
