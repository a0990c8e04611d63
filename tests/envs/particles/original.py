"""Envs of mpe2 that begin where a world's do."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from warpworld import World

# name -> module of mpe2, and parameters beside their names there
MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "particles_adversary": ("simple_adversary_v3", {"agents": "N"}),
    "particles_crypto": ("simple_crypto_v3", {}),
    "particles_push": ("simple_push_v3", {}),
    "particles_pursuit": (
        "simple_tag_v3",
        {"agents": "num_good", "adversaries": "num_adversaries", "obstacles": "num_obstacles"},
    ),
    "particles_reference": ("simple_reference_v3", {"local_ratio": "local_ratio"}),
    "particles_simple": ("simple_v3", {}),
    "particles_speaker_listener": ("simple_speaker_listener_v4", {}),
    "particles_spread": ("simple_spread_v3", {"agents": "N", "local_ratio": "local_ratio"}),
    "particles_world_comm": (
        "simple_world_comm_v3",
        {
            **{"agents": "num_good", "adversaries": "num_adversaries", "obstacles": "num_obstacles"},
            **{"food": "num_food", "forests": "num_forests"},
        },
    ),
}


class Originals:
    """An env of the package for each env of a world, in its state.

    Args:
        world: of a game of particles, after its first reset.
    """

    def __init__(self, world: World) -> None:
        module, names = MODULES[world.environment.name]
        params = world.environment.params
        options = {there: getattr(params, here) for here, there in names.items()}
        make = importlib.import_module(f"mpe2.{module}").parallel_env
        self._envs = [make(max_cycles=params.episode_length, **options) for _ in range(world.num_envs)]
        for env in self._envs:
            env.reset()
        self.follow(world)

    def follow(self, world: World) -> None:
        """Take on what the world's envs hold; steps and words stay."""
        state = ("position", "velocity", "landmark", "damping", "mass", "goal", "prey_speed", "message", "key")
        names = [name for name in state if name in world.data]
        for number, env in enumerate(self._envs):
            _put(env.unwrapped.world, {name: world.data.numpy(name)[number].astype(np.float64) for name in names})

    def observations(self, group: str) -> np.ndarray:
        """What a group's agents see, (envs, agents, numbers)."""
        return np.array([[env.unwrapped.observe(name) for name in members(env, group)] for env in self._envs])

    def spaces(self, group: str) -> tuple[int, int]:
        """How many numbers an agent of a group sees, and how many choices it has."""
        env = self._envs[0]
        agent = members(env, group)[0]
        return env.observation_space(agent).shape[0], int(env.action_space(agent).n)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step with actions (envs, agents); returns the rewards and whether episodes were cut."""
        results: list[Any] = [
            env.step({name: int(action) for name, action in zip(env.possible_agents, chosen, strict=True)})
            for env, chosen in zip(self._envs, actions, strict=True)
        ]
        return np.array([[*result[1].values()] for result in results]), np.array(
            [all(result[3].values()) for result in results]
        )

    def gaps(self) -> np.ndarray:
        """How near each env's agents are to just touching, of any two: rewards jump there."""
        return np.array([_gap(env.unwrapped.world.agents) for env in self._envs])


def members(env: Any, group: str) -> list[str]:
    """The agents of a group, by name."""
    return [name for name in env.possible_agents if name.startswith(group)]


def _put(plane: Any, state: dict[str, np.ndarray]) -> None:
    """Put a world of mpe2 into a state."""
    if "key" in state:
        _put_secrets(plane, int(state["message"]), int(state["key"]))
        return
    plane.damping = float(state["damping"])
    for number, agent in enumerate(plane.agents):
        agent.state.p_pos, agent.state.p_vel = state["position"][number].copy(), state["velocity"][number].copy()
        agent.initial_mass = float(state["mass"])
        if "prey_speed" in state and not agent.adversary:
            agent.accel, agent.max_speed = 4.0 * float(state["prey_speed"]), 1.3 * float(state["prey_speed"])
    for landmark, place in zip(plane.landmarks, state["landmark"], strict=True):
        landmark.state.p_pos = place.copy()
    if "goal" in state:
        _put_goals(plane, state["goal"].astype(int))


def _put_goals(plane: Any, goal: np.ndarray) -> None:
    """Set goals, and what colours show of them."""
    landmarks, agents = plane.landmarks, plane.agents
    if hasattr(agents[0], "goal_b"):  # the other's goal; only a speaker has one in the game of two kinds
        for agent, number in zip(agents, goal.reshape(-1), strict=False):
            agent.goal_b = landmarks[number]
        return
    for agent in agents:
        agent.goal_a = landmarks[int(goal)]
        if hasattr(landmarks[0], "index") and not agent.adversary:
            agent.color = np.where(np.arange(3) == int(goal) + 1, 0.75, 0.25)


def _put_secrets(plane: Any, message: int, key: int) -> None:
    """Set the message and the key of crypto, each the colour of a landmark."""
    for agent in plane.agents:
        agent.goal_a = plane.landmarks[message]
    plane.agents[2].key = plane.landmarks[key].color


def _gap(agents: list[Any]) -> float:
    gaps = [
        abs(float(np.hypot(*(one.state.p_pos - other.state.p_pos))) - one.size - other.size)
        for number, one in enumerate(agents)
        for other in agents[:number]
    ]
    return min(gaps, default=np.inf)
