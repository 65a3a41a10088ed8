"""`python -m serverless.activator`."""

import gc
import sys

# Loading modules leaves no garbage, and looking for it is a good part of a start. `main` enables
# the garbage collector again.
gc.disable()

from serverless.activator.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
