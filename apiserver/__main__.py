"""`python -m apiserver`."""

import gc
import sys

# Loading modules leaves no garbage, and looking for it takes a sixth of the time that a start
# takes. The program looks again once it is loaded.
gc.disable()

from apiserver.main import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
