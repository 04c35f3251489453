"""``python -m obliqua`` is the command ``obliqua``."""

import sys

from obliqua.cli import main

if __name__ == "__main__":
    sys.exit(main())
