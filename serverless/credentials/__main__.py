"""`python -m serverless.credentials`."""

import sys

from serverless.credentials.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
