"""The command that finds or builds the programs of the control plane, once for all checkouts."""

import sys

from hack.cluster.binaries.find import ensure_binaries
from hack.cluster.errors import ClusterError


def main() -> int:
    try:
        ensure_binaries()
    except ClusterError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
