"""Tests of merge patches: a patch has every change and nothing else."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shared.k8s import merge_patch
from shared.v1alpha1.gpuunit import GPUUnitSpec, GPUUnitStatus
from shared.v1alpha1.template import EnvVar, WorkloadTemplate

words = st.sampled_from(["", "a", "b"])
templates = st.none() | st.builds(
    WorkloadTemplate,
    command=st.lists(words, max_size=2).map(tuple),
    envs=st.lists(st.builds(EnvVar, name=st.just("A"), value=words), max_size=2).map(tuple),
)
specs = st.builds(
    GPUUnitSpec,
    spec_name=st.sampled_from(["a", "b"]),
    gpu=st.integers(min_value=0, max_value=2),
    image=words,
    node_selector=st.dictionaries(words, words, max_size=2),
    template=templates,
)


def patched(target: Any, patch: Any) -> Any:
    """Apply the patch by the algorithm of RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


@given(specs, specs)
def test_a_patch_changes_the_old_value_into_the_new_one(
    before: GPUUnitSpec, after: GPUUnitSpec
) -> None:
    result = patched(msgspec.to_builtins(before), merge_patch.create_merge_patch(before, after))
    assert msgspec.convert(result, GPUUnitSpec) == after


@given(specs)
def test_a_patch_between_equal_values_is_empty(spec: GPUUnitSpec) -> None:
    assert merge_patch.create_merge_patch(spec, msgspec.structs.replace(spec)) == {}


def test_a_number_that_returns_to_zero_is_removed_by_name() -> None:
    before, after = GPUUnitStatus(ready_replicas=1), GPUUnitStatus()
    assert merge_patch.create_merge_patch(before, after) == {"readyReplicas": None}


def test_a_patch_from_none_has_the_whole_value() -> None:
    after = GPUUnitStatus(phase="Ready")
    assert merge_patch.create_merge_patch(None, after) == {"phase": "Ready"}
