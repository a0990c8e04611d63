"""A repository of an environment, of which two commits can be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.bench.git import git

STEADY = '''
from dataclasses import dataclass
from gymnasium.spaces import Box, Discrete
from warpworld import Environment, Group


class Steady(Environment):
    """Agents that do nothing."""

    source = "steady.cu"

    @dataclass(frozen=True)
    class Params:
        agents: int = AGENTS

    def groups(self):
        return [Group("agent", self.params.agents, Box(0.0, 1.0, (1,)), Discrete(2))]

    def phases(self):
        return ["step"]

    def resets(self):
        return []
'''
KERNEL = """#include <warpworld.cuh>
extern "C" __global__ void step(float* rewards) { if (is_active()) rewards[agent_index()] = 1.0f; }
"""
CONFIG = """# Steady agents.
name: ./steady.py
trainer: {{num_envs: 4, num_steps: {agents}, total_env_steps: 1000}}
policy:
  agent: {{num_minibatches: 1, model: {{hidden_sizes: [4]}}}}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of an environment and a config: it had three agents and as many steps, and has five."""
    folder = tmp_path / "own"
    (folder / "envs").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / ".gitignore").write_text("__pycache__/\n")
    for agents in (3, 5):
        (folder / "envs" / "steady.py").write_text(STEADY.replace("AGENTS", str(agents)))
        (folder / "envs" / "steady.cu").write_text(KERNEL)
        (folder / "envs" / "steady.yaml").write_text(CONFIG.format(agents=agents))
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"{agents} agents")
    monkeypatch.chdir(folder / "envs")
    return folder
