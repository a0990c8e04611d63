"""The worker of `warpworld bench`, run against an older warpworld, whose folders hand on few names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpworld.cli.bench.sides import WORKER

pytestmark = pytest.mark.cpu_backend

# Just what the worker uses, in the modules of commit 4a8ba33.
OLDER = {
    "__init__.py": '''
from types import SimpleNamespace as Namespace


class World:
    """A world of one agent that nothing happens to."""

    groups, num_agents, device, data = {}, 1, Namespace(type="cpu"), Namespace(nbytes=8)

    def __init__(self, environment, num_envs, device):
        self.environment = environment

    def reset(self):
        """Nothing."""

    step = reset


class Trainer:
    """A trainer that does nothing."""

    def __init__(self, config):
        self.world = World(Namespace, 1, "cpu")
        self.world.environment = self
''',
    "config/__init__.py": "",
    "config/endless.py": """
from types import SimpleNamespace as Namespace


def load_endless(name, overrides):
    return Namespace(trainer=Namespace(num_envs=2, num_steps=3))
""",
    "environment/__init__.py": """
class Still:
    pass


def get_environment(name):
    return Still
""",
    "environment/spaces.py": "def action_heads(space): return [2]",
    "trainers/__init__.py": "",
    "trainers/cpu_tuning.py": "def tune_for_cpu(device): assert device.type == 'cpu'",
}
TIMING = """
from types import SimpleNamespace as Namespace


def timed_iterations(trainer, seconds, least=1):
    return Namespace(totals=[0.5], rollouts=[0.25])
"""


@pytest.mark.parametrize(
    ("what", "env_steps", "keys"),
    [
        ("train", 6, ["seconds", "rollout"]),
        pytest.param("step", 2, ["seconds"], marks=[pytest.mark.long, pytest.mark.heavy]),  # torch is imported
    ],
)
def test_against_an_older_warpworld(what: str, env_steps: int, keys: list[str], tmp_path: Path) -> None:
    for name, text in {**{f"warpworld/{name}": text for name, text in OLDER.items()}, "timing.py": TIMING}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    words = [str(tmp_path / "timing.py"), what, "still", "2", "{}", '"cpu"']
    done = subprocess.run(
        [sys.executable, str(WORKER), *words],
        input="0.001\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        check=True,
    )
    about, measured = map(json.loads, done.stdout.splitlines())
    assert about["env_steps"] == env_steps, about
    assert list(measured) == keys
