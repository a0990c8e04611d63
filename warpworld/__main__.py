"""``python -m warpworld``: the command line."""

import sys

from warpworld.cli.main import main

sys.exit(main())
