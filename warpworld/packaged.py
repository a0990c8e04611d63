"""Contents of the package, found without importing it: environments, configs and classes by the names of configs."""

from __future__ import annotations

import ast
import importlib.resources
import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

# family -> name -> the module that registers the environment when imported
FAMILIES = {
    "board": {name: f"warpworld.envs.board.{name}" for name in ("connect_four", "phantom_tic_tac_toe", "tic_tac_toe")},
    "battle": {"battle": "warpworld.envs.battle.battle"},
    "classic control": {name: f"warpworld.envs.{name}.{name}" for name in ("cartpole", "pendulum", "acrobot")}
    | {name: f"warpworld.envs.mountain_car.{name}" for name in ("mountain_car", "mountain_car_continuous")},
    "diagnostics": {
        name: f"warpworld.envs.{name}.{name}"
        for name in ("chain", "coins", "delayed_reward", "recall", "signalling", "switch_riddle")
    },
    "epidemic": {"epidemic": "warpworld.envs.epidemic.epidemic"},
    "grid worlds": {name: f"warpworld.envs.{name}.{name}" for name in ("coin_game", "foraging", "warehouse")},
    "hanabi": {"hanabi": "warpworld.envs.hanabi.hanabi"},
    "hide and seek": {"hide_and_seek": "warpworld.envs.hide_and_seek.hide_and_seek"},
    "minatar": {
        f"minatar_{game}": f"warpworld.envs.minatar.{game}"
        for game in ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
    },
    "overcooked": {"overcooked": "warpworld.envs.overcooked.overcooked"},
    "particles": {
        f"particles_{game}": f"warpworld.envs.particles.{game}"
        for game in (
            *("adversary", "crypto", "pursuit", "push", "reference", "simple", "speaker_listener", "spread"),
            "world_comm",
        )
    },
    "poker": {name: f"warpworld.envs.poker.{name}" for name in ("kuhn_poker", "leduc_poker")},
    "skirmish": {"skirmish": "warpworld.envs.skirmish.skirmish"},
    "tag": {name: f"warpworld.envs.{name}.{name}" for name in ("tag_gridworld", "tag_continuous")},
    "worlds with eyes": {
        name: f"warpworld.envs.{name}.{name}" for name in ("explorer", "waypoint", "point_goal", "deathmatch")
    },
}
ENVIRONMENTS = {name: module for family in FAMILIES.values() for name, module in family.items()}

# Classes by the names that configs use, imported when a config names them. ``module:Class`` names another.
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
    "gumbel_zero": "warpworld.trainers.algorithms.gumbel_zero:GumbelZero",
}
MODELS = {
    "mlp": "warpworld.policies.networks.mlp:MLP",
    "multi_input": "warpworld.policies.networks.multi_input:MultiInput",
    "impala": "warpworld.policies.networks.impala:Impala",
    "entities": "warpworld.policies.networks.entities:Entities",
}
LOGGERS = {
    "tensorboard": "warpworld.runs.loggers.tensorboard:TensorBoard",
    "wandb": "warpworld.runs.loggers.weights_and_biases:WeightsAndBiases",
    "mlflow": "warpworld.runs.loggers.ml_flow:MLflow",
}
# What every algorithm, and every logger, is a subclass of.
ALGORITHM = "warpworld.trainers.algorithms.algorithm:Algorithm"
LOGGER = "warpworld.runs.loggers.logger:Logger"
# What draws replays while a run trains: it stands above training.
RECORDER = "warpworld.report.while_training:record_policies"

# What `warpworld list` shows of each of them; written by tools/write_catalogue.py, since loading them takes seconds.
CATALOGUE = Path(__file__).resolve().parent / "envs" / "catalogue.json"

# What a run that comes with the package is named by: PRETRAINED and its name.
PRETRAINED = "pretrained:"

# Of warpworld too, but no world of its own.
OTHERS = "others' environments"
EXTERNAL = {"atari": "warpworld.envs.atari.atari", "external": "warpworld.adapters.external.external"}


def packaged_names() -> list[str]:
    """Names of the environments that come with warpworld, sorted."""
    return sorted(ENVIRONMENTS)


def packaged_configs() -> dict[str, Traversable]:
    """The configs that come with warpworld, by name, sorted."""
    return _yaml_files(_configs())


def packaged_tables() -> dict[str, Traversable]:
    """The tables of published results that `warpworld reproduce` trains, by name, sorted."""
    return _yaml_files(_configs().joinpath("reproduce"))


def pretrained_folder() -> Path:
    """The folder of the runs that come with warpworld."""
    return Path(__file__).resolve().parent / "runs" / "pretrained"


def pretrained_runs() -> dict[str, Path]:
    """Folders of the runs that come with warpworld, by name, sorted; ``pretrained:NAME`` stands for one."""
    return {path.parent.name: path.parent for path in sorted(pretrained_folder().glob("*/config.yaml"))}


def _configs() -> Traversable:
    """The folder of the configs: of this checkout, also where another one is installed, or of the installed package."""
    root = Path(__file__).resolve().parent.parent
    return root / "configs" if (root / "setup.py").is_file() else importlib.resources.files("warpworld.configs")


def _yaml_files(folder: Traversable) -> dict[str, Traversable]:
    """The YAML files of a folder by their names, sorted; none where there is no such folder."""
    if not folder.is_dir():
        return {}
    found = {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    return dict(sorted(found.items()))


def catalogue() -> dict[str, dict[str, str]]:
    """Describe each environment, by name: ``family``, ``agents``, ``observation``, ``action`` and ``about``.

    Numbers are those of its packaged config, or of its default parameters where it has none. ``about`` is the first
    line of its docstring. Of an environment whose agents another library decides, ``family`` and ``about`` alone.
    """
    spaces, about = json.loads(CATALOGUE.read_text(encoding="utf-8")), environment_summaries()
    return {
        name: {"family": family, **spaces.get(name, {}), "about": about[name]}
        for family, members in {**FAMILIES, OTHERS: EXTERNAL}.items()
        for name in members
    }


def environment_summaries() -> dict[str, str]:
    """The first line of each environment's docstring, by name, sorted; read from its source."""
    return {name: _summary(name, module) for name, module in sorted({**ENVIRONMENTS, **EXTERNAL}.items())}


def config_summaries() -> dict[str, str]:
    """The comment that each packaged config begins with, by name, sorted."""
    return {name: _first_comment(entry.read_text(encoding="utf-8")) for name, entry in packaged_configs().items()}


def _summary(name: str, module: str) -> str:
    path = Path(__file__).resolve().parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(_registers(decorator, name) for decorator in node.decorator_list):
            return inspect.cleandoc(ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def _registers(decorator: ast.expr, name: str) -> bool:
    """Whether a decorator is ``@register("name")``."""
    constants = [each.value for each in getattr(decorator, "args", []) if isinstance(each, ast.Constant)]
    return constants == [name]


def _first_comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""
