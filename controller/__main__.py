"""Entry point of `python -m controller`."""

import gc
import sys

# Module loading leaves no garbage, and collection takes a large part of the start time. `main`
# enables the garbage collector again.
gc.disable()

from controller.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
