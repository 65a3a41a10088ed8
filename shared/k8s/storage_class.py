"""StorageClasses, as far as we read them."""

import msgspec

from shared.k8s.meta import ObjectMeta


class StorageClass(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How volumes are made."""

    metadata: ObjectMeta
    volume_binding_mode: str = "Immediate"
    allow_volume_expansion: bool = False

    @property
    def waits_for_first_consumer(self) -> bool:
        """Whether a volume is made only when a pod wants it."""
        return self.volume_binding_mode == "WaitForFirstConsumer"
