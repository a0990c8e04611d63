"""Plays Gymnasium's CartPole with a policy that `warpworld export` wrote, by ONNX Runtime; no warpworld, no torch.

warpworld train cartpole
warpworld export runs/cartpole-...
python examples/onnx_player.py runs/cartpole-.../export/agent.onnx
"""

import sys

import gymnasium
import numpy as np
import onnxruntime
from gymnasium.vector import AutoresetMode


class Player:
    """Acts for some agents; a policy's memory stays between calls, and begins anew where an episode ended."""

    def __init__(self, path: str, num_agents: int) -> None:
        self.session = onnxruntime.InferenceSession(path)
        self.names = [output.name for output in self.session.get_outputs()]
        self.state = None
        for tensor in self.session.get_inputs():
            if tensor.name == "state":
                self.state = np.zeros((num_agents, *tensor.shape[1:]), np.float32)

    def act(self, ended: np.ndarray, **inputs: np.ndarray) -> np.ndarray:
        """Greedy actions: inputs are observations, or observations_KEY of a Dict's parts, and action_mask."""
        if self.state is not None:
            self.state[ended] = 0.0
            inputs["state"] = self.state
        found = dict(zip(self.names, self.session.run(None, inputs), strict=True))
        self.state = found.get("next_state")
        return found["action"]


def play(path: str, num_envs: int = 16) -> float:
    """Mean return of each env's first episode."""
    autoreset = {"autoreset_mode": AutoresetMode.SAME_STEP}  # an end comes with the next episode's first observation
    envs = gymnasium.make_vec("CartPole-v1", num_envs, "sync", vector_kwargs=autoreset)
    player, returns, over = Player(path, num_envs), np.zeros(num_envs), np.zeros(num_envs, bool)
    observations, _ = envs.reset(seed=0)
    ended = np.zeros(num_envs, bool)
    while not over.all():
        observations, rewards, terminated, truncated, _ = envs.step(player.act(ended, observations=observations))
        returns += rewards * ~over
        ended = terminated | truncated
        over |= ended
    return float(returns.mean())


if __name__ == "__main__":
    print(f"mean return {play(sys.argv[1]):.1f}")
