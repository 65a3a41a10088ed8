"""`python -m serverless.worker`."""

import sys

from serverless.worker.main import main

sys.exit(main(sys.argv[1:]))
