"""The tests, in the package's folders: what is in ``warpworld/eyes/plans`` is tested by ``tests/eyes/plans``.

Beside them, ``benchmarks/`` and ``docs/`` test the top-level folders of those names, and ``stand_in/`` is a CUDA driver
that needs no GPU. A file imports what it shares with others by its whole name (``from tests.toys import environment``),
so that each runs alone and from any folder.
"""
