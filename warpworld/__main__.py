"""``python -m warpworld``: the command line."""

import sys

from warpworld.cli import main

sys.exit(main())
