"""The mount of a GPUStorage in the file system of a unit."""

from typing import Annotated

import msgspec
from msgspec import Meta


class StorageMount(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Which GPUStorage, and where its files are seen."""

    name: Annotated[
        str, Meta(description="The name of a GPUStorage in the same namespace.", min_length=1)
    ]
    mount_path: Annotated[
        str, Meta(description="The folder in which its files are seen.", min_length=1)
    ]
    read_only: Annotated[bool, Meta(description="Whether writing is refused.")] = False
