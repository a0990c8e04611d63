"""A module that needs a package which is not there."""

import no_such_package  # noqa: F401
