"""The catalogue in the examples of the API document."""

from typing import Final

from apiserver.specs.schemas import SpecViewSchema
from apiserver.specs.service import SpecSummary
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.unit_resources import UnitResources

_MODEL: Final = SpecSummary(
    resources=UnitResources(spec_name="g1.1", cpu="8", memory="64Gi", gpu=1),
    description="One A100, 64 GiB",
    stock={UnitPhase.READY.value: 4, UnitPhase.PROGRESSING.value: 1},
    available=3,
    capacity=32,
)
SPECS: Final = {"data": [SpecViewSchema().dump(_MODEL)], "meta": {}}
