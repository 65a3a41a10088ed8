"""StorageClasses, limited to the fields that the programs read."""

import msgspec

from shared.k8s.meta import ObjectMeta


class StorageClass(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The way in which volumes are provisioned."""

    metadata: ObjectMeta
    volume_binding_mode: str = "Immediate"
    allow_volume_expansion: bool = False

    @property
    def waits_for_first_consumer(self) -> bool:
        """Return whether a volume is provisioned only when a pod uses its PVC."""
        return self.volume_binding_mode == "WaitForFirstConsumer"
