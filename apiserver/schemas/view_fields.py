"""Fields of views that read values from metadata and status."""

from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import fields

from shared.k8s.meta import Condition, ObjectMeta
from shared.v1alpha1.reasons import ConditionType
from shared.v1alpha1.reserved_labels import is_reserved_label


class Timestamp(fields.String):
    """A time in the format of Kubernetes."""

    def __init__(self, attribute: str) -> None:
        super().__init__(attribute=attribute, metadata={"format": "date-time"})


class ConstantString(fields.String):
    """A constant that is the same in every view of a kind."""

    _CHECK_ATTRIBUTE = False

    def __init__(self, value: str) -> None:
        super().__init__(metadata={"enum": [value]})
        self._value = value

    def _serialize(self, *_: Any, **__: Any) -> str:
        return self._value


class DeletedFlag(fields.Boolean):
    """A placeholder for the flag of deleted objects, which have a view of their own."""

    def __init__(self) -> None:
        super().__init__(
            metadata={"description": "True if the object was created and then deleted."}
        )


class AnnotationValue(fields.String):
    """The value of an annotation."""

    _CHECK_ATTRIBUTE = False

    def __init__(self, key: str, **options: Any) -> None:
        super().__init__(**options)
        self._key = key

    def _serialize(self, value: Any, attr: Any, obj: Any, **_: Any) -> str | None:
        metadata: ObjectMeta = obj.metadata
        return metadata.annotations.get(self._key)


class CallerLabels(fields.Dict):
    """The labels that the caller set."""

    def __init__(self) -> None:
        super().__init__(keys=fields.String(), values=fields.String(), attribute="metadata.labels")

    def _serialize(self, value: Any, *_: Any, **__: Any) -> dict[str, str]:
        labels: Mapping[str, str] = value
        return {key: label for key, label in labels.items() if not is_reserved_label(key)}


class ReadyConditionField(fields.String):
    """The value of one field of the condition Ready."""

    _CHECK_ATTRIBUTE = False

    def __init__(self, condition_field: str) -> None:
        super().__init__()
        self._condition_field = condition_field

    def _serialize(self, value: Any, attr: Any, obj: Any, **_: Any) -> str | None:
        conditions: Iterable[Condition] = obj.status.conditions
        ready = (item for item in conditions if item.type == ConditionType.READY)
        return next((getattr(item, self._condition_field) for item in ready), None)


class ObservedGeneration(fields.Integer):
    """A generation; 0 means that none was observed yet."""

    def __init__(self) -> None:
        super().__init__(attribute="status.observed_generation")

    def _serialize(self, value: Any, *_: Any, **__: Any) -> int | None:
        return value or None
