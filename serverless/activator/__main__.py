"""`python -m serverless.activator`."""

import sys

from serverless.activator.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
