"""The mount of a GPUStorage in the file system of a unit."""

from typing import Annotated

import msgspec
from msgspec import Meta


class StorageMount(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A GPUStorage and the path at which it is mounted."""

    name: Annotated[
        str, Meta(description="The name of a GPUStorage in the same namespace.", min_length=1)
    ]
    mount_path: Annotated[
        str, Meta(description="The absolute path of the mount in the unit.", min_length=1)
    ]
    read_only: Annotated[bool, Meta(description="Whether the mount is read-only.")] = False
