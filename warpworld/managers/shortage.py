"""Error for a store that memory does not suffice for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

LISTED = 8  # arrays that are named


def explain_shortage(
    nbytes: int, sizes: Mapping[str, int], growing: Collection[str], num_envs: int, num_agents: int, free: int | None
) -> str:
    """Report the arrays that ask for the memory, and how many envs would fit, or how many agents of one.

    Args:
        nbytes: of all arrays, padding included.
        sizes: bytes of each array.
        growing: names of the arrays that grow with the number of envs.
        num_envs: envs that were asked for.
        num_agents: agents of each.
        free: bytes that could be allocated, None where that is not known.
    """
    message = f"no memory for {amount(nbytes)} of arrays ({_largest(sizes)})"
    if free is None:
        return f"{message}; ask for fewer envs or shorter rollouts than num_envs={num_envs} needs"
    of_envs = sum(sizes[name] for name in growing)
    left = free - (nbytes - of_envs)
    fitting = left * num_envs // of_envs if of_envs else 0
    fitting = min(fitting, num_envs - 1)  # what is free may lie in pieces
    remedy = f"num_envs={fitting} would fit"
    if fitting <= 0:
        agents = left * num_envs * num_agents // of_envs if of_envs else 0
        which = f" (about {agents:,} of {num_agents:,} would fit)" if 0 < agents < num_agents else ""
        remedy = f"not even one env would fit; ask for fewer agents{which}"
    return f"{message}; {amount(free)} are free, and num_envs={num_envs} needs more: {remedy}"


def _largest(sizes: Mapping[str, int]) -> str:
    """The largest arrays with what each asks for, and the others together."""
    by_size = sorted(((size, name) for name, size in sizes.items()), reverse=True)
    asked = [f"{name} {amount(size)}" for size, name in by_size[:LISTED]]
    others = [size for size, _ in by_size[LISTED:]]
    if others:
        asked.append(f"{len(others)} other{'s' * (len(others) > 1)} {amount(sum(others))}")
    return ", ".join(asked)


def amount(nbytes: int) -> str:
    """Bytes in the largest unit that leaves a number of at least 1."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"
