"""`python -m serverless.activator`."""

import gc
import sys

# Imports create no garbage, and collecting takes a large part of the start. `main` enables the
# garbage collector again.
gc.disable()

from serverless.activator.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
