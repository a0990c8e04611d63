"""The algorithms by name."""

from __future__ import annotations

from warpworld.errors import ConfigError, suggest
from warpworld.importing import import_named
from warpworld.trainers.algorithms.algorithm import Algorithm

# imported when they are asked for: a run loads what it uses
ALGORITHMS = {
    "ppo": "warpworld.trainers.algorithms.ppo:PPO",
    "a2c": "warpworld.trainers.algorithms.a2c:A2C",
    "mappo": "warpworld.trainers.algorithms.mappo:MAPPO",
    "dqn": "warpworld.trainers.algorithms.dqn:DQN",
    "r2d2": "warpworld.trainers.algorithms.r2d2:R2D2",
    "vdn": "warpworld.trainers.algorithms.vdn:VDN",
    "qmix": "warpworld.trainers.algorithms.qmix:QMIX",
    "ape_x": "warpworld.trainers.algorithms.ape_x:ApeX",
    "ddpg": "warpworld.trainers.algorithms.ddpg:DDPG",
    "sac": "warpworld.trainers.algorithms.sac:SAC",
}


def get_algorithm(name: str) -> type[Algorithm]:
    """The algorithm of that name, or the class that ``module:Class`` names.

    Raises:
        ConfigError: there is none, or it is no algorithm.
    """
    if ":" not in name and name not in ALGORITHMS:
        hint = suggest(name, (*ALGORITHMS, "random"))
        raise ConfigError(
            f"algorithm {name!r}, expected one of {', '.join(ALGORITHMS)}, random, or module:Class.{hint}"
        )
    try:
        found = import_named(ALGORITHMS.get(name, name))
    except ImportError as error:
        raise ConfigError(f"algorithm '{name}' cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Algorithm)):
        raise ConfigError(f"algorithm '{name}' is not a subclass of warpworld.trainers.algorithms.Algorithm")
    missing = sorted(found.__abstractmethods__)
    if missing:
        raise ConfigError(f"algorithm '{name}' has no {' and no '.join(missing)}; see warpworld.trainers.algorithms")
    if not hasattr(found, "Settings"):
        raise ConfigError(f"algorithm '{name}' has no Settings, expected a subclass of warpworld.config.LearnerConfig")
    return found
