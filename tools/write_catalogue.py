"""Writes ``warpworld/envs/catalogue.json``: agents and spaces of every packaged environment, as `warpworld list` shows.

The command may not take the two seconds that loading torch and the environments takes; a test holds the file to what
the environments declare. ``make catalogue`` runs this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.config import load_config
from warpworld.environment import get_environment
from warpworld.packaged import CATALOGUE, ENVIRONMENTS, packaged_configs


def catalogue() -> dict[str, dict[str, str]]:
    """Of each environment, as its packaged config has it: its agents, what they observe, and their actions."""
    found = {}
    for name in sorted(ENVIRONMENTS):
        params = load_config(name).env if name in packaged_configs() else {}
        groups = get_environment(name)(**params).groups()
        found[name] = {
            "agents": ", ".join(group.name if group.size == 1 else f"{group.size} x {group.name}" for group in groups),
            "observation": _once((group.name, _observation(group.observation)) for group in groups),
            "action": _once((group.name, _action(group.action)) for group in groups),
        }
    return found


def _once(described: Iterable[tuple[str, str]]) -> str:
    """What all groups have in common, or what each has."""
    pairs = list(described)
    if len({words for _, words in pairs}) == 1:
        return pairs[0][1]
    return ", ".join(f"{name} {words}" for name, words in pairs)


def _observation(space: Space) -> str:
    if isinstance(space, Dict):
        return ", ".join(space)
    return f"{_size(space)} {'flags' if isinstance(space, MultiBinary) else 'numbers'}"


def _size(space: Space) -> str:
    return " x ".join(str(length) for length in (space.shape or (1,)))


def _action(space: Space) -> str:
    if isinstance(space, Discrete):
        return f"{space.n} choices"
    if isinstance(space, MultiDiscrete):
        return " x ".join(str(choices) for choices in space.nvec) + " choices"
    assert isinstance(space, Box)
    return "1 number" if space.shape == (1,) else f"{_size(space)} numbers"


def main() -> None:
    """Write the file."""
    Path(CATALOGUE).write_text(json.dumps(catalogue(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
