import sys

from .age import process_start
from .main import main

sys.exit(main(began=process_start()))
