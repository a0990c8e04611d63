"""What is trained: megastep's rules with all their faults, each of these fixed, all of them, and in another place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.envs.deathmatch.megastep_rules import MENDS

ALL_MENDS = ",".join(MENDS)
# Four agents as published; and homes as large as megastep's, as bounds matters where sides differ by more than 2 m.
SAME = {"plans": "homes", "num_plans": 32, "min_rooms": 6, "max_rooms": 20, "players": 2, "rivals": 2}
ROOM = {"plans": "column"}  # where nobody has to look for anybody; it is square, so that bounds has no part in it
TRAINER = {"num_envs": 128, "num_steps": 64, "device": "cpu", "num_workers": 1, "torch_threads": 1}
ENDLESS = 10**12  # env steps: it is the time that ends a training
POLICY = {
    "model": {"type": "mlp", "hidden_sizes": [64, 64], "activation": "tanh"},
    "learning_rate": 1e-3,
    "anneal_lr": False,
    "ent_coef": 0.01,
    "self_play": None,
}
SELF_PLAY = {"groups": ["rival"], "share": 0.5, "slots": 4, "match_every": 30}


@dataclass(frozen=True)
class Arm:
    """One training of the ablation.

    Attributes:
        name: of the arm.
        says: what it is, as a table says it.
        rules: what of the env's parameters it has for itself.
        learning: what of the policy's settings it has for itself.
        keeps_schedules: whether what the packaged config schedules is a part of its rules.
    """

    name: str
    says: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    learning: Mapping[str, Any] = field(default_factory=dict)
    keeps_schedules: bool = False

    @property
    def params(self) -> dict[str, Any]:
        """The env's parameters."""
        return {**load_config("deathmatch").env, **SAME, **self.rules}

    @property
    def has_published_actions(self) -> bool:
        """Whether it acts and sees as in the published game, so that its policy can play by any mends of it."""
        return bool(self.rules.get("megastep_rules"))

    def config(self, seed: int) -> RunConfig:
        """The run for one seed."""
        data = load_config("deathmatch").to_dict()
        data["env"] = self.params
        data["trainer"] |= {**TRAINER, "total_env_steps": ENDLESS, "seed": seed}
        data["policy"]["fighter"] |= {**POLICY, **self.learning}
        if not self.keeps_schedules:
            data["schedules"] = {}
        return config_from_dict(data)


def _published(name: str, says: str, mends: str = "", place: Mapping[str, Any] | None = None, **learning: Any) -> Arm:
    return Arm(name, says, {**(place or {}), "megastep_rules": True, "megastep_mends": mends}, learning)


_ARMS = (
    _published("published", "the published rules, all faults"),
    *(_published(name, f"{name} fixed", name) for name in MENDS),
    _published("advantages", "advantages not normalised", norm_adv=False),
    _published("pool", "past selves in half of the envs", self_play=SELF_PLAY),
    _published("rules", "the five faults of the rules fixed", ALL_MENDS),
    _published("all", "all seven fixed", ALL_MENDS, norm_adv=False, self_play=SELF_PLAY),
    Arm("warpworld", "warpworld's own rules", keeps_schedules=True),
    _published("room", "the published rules in one room", place=ROOM),
    _published("room_rules", "the five faults fixed in one room", ALL_MENDS, ROOM),
    Arm("room_warpworld", "warpworld's own rules in one room", ROOM, keeps_schedules=True),
)
ARMS = {arm.name: arm for arm in _ARMS}
COMMON = ARMS["rules"]  # by whose rules all that act as published are examined, too
