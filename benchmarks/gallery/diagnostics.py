"""Tiny worlds with exact values. A recall of gymnax's is like ours; the others have no peer."""

from __future__ import annotations

from .case import Case
from .classic_control import gymnax

PEERS = {"recall": {"gymnax": gymnax("MemoryChain-bsuite")}}
CASES = tuple(
    Case(name, name, 4096, peers=PEERS.get(name, {}))
    for name in ("chain", "coins", "delayed_reward", "recall", "signalling")
)
