"""`python -m serverless.resultstore`."""

import sys

from serverless.resultstore.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
