"""docs/metrics.md names every metric that a run logs, and no other."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.environment import get_environment, packaged_names, placed_groups
from warpworld.runs import Run
from warpworld.trainers.collecting.metrics import own_metrics
from warpworld.trainers.trainer import Trainer


def on_the_page() -> set[str]:
    """The names in the first column of the page's tables."""
    return set(re.findall(r"^\| `([^`]+)` \|", page("metrics"), re.MULTILINE))


def logged(tmp_path: Path, *words: str) -> set[str]:
    """Names of the metrics of a small run of Tag, with ``<policy>`` for a policy's name."""
    small = ["trainer.num_envs=2", "trainer.num_steps=8", "trainer.total_env_steps=16", "trainer.device=cpu"]
    minibatches = [f"policy.{name}.num_minibatches=1" for name in ("tagger", "runner")]
    config = load_config("tag_gridworld", [*small, *minibatches, *words])
    run = Run.create(config, tmp_path)
    metrics = Trainer(config).train(run)
    run.close()
    return {re.sub(r"/(tagger|runner)/", "/<policy>/", name) for name in metrics}


def own() -> set[str]:
    """Those of environments, of a curriculum, of a population and of a penalty that follows."""
    kinds = ("env/", "curriculum/", "population/", "eval/<measure>")
    return {name for name in on_the_page() if name.startswith(kinds) or name.endswith("/kl_coef")}


def of_self_play() -> set[str]:
    """Those that only runs with opponents have."""
    return {name for name in on_the_page() if name.startswith("league/")}


def of_evaluations() -> set[str]:
    """Those that only evaluated iterations have."""
    return {name for name in on_the_page() - own() if name.startswith("eval/") or name == "perf/eval_s"}


def unrewarded() -> set[str]:
    """Those that only an iteration without a reward has."""
    return {name for name in on_the_page() if name.endswith("/unrewarded")}


def test_names_of_evaluations(tmp_path: Path) -> None:
    words = ["saving.eval_every=1", "saving.eval_episodes=1", "saving.eval_opponents=[greedy]"]
    names = {re.sub("/greedy$", "/<opponent>", name) for name in logged(tmp_path, *words)}
    assert names | unrewarded() == on_the_page() - of_self_play() - own()


def test_the_page_and_a_run_have_the_same_names(tmp_path: Path) -> None:
    assert logged(tmp_path) | unrewarded() == on_the_page() - of_self_play() - own() - of_evaluations()
    (other,) = tmp_path.iterdir()
    opponents = f"opponents: [greedy, random, '{other}']"
    with_opponents = logged(tmp_path, f"policy.tagger.self_play={{slots: 1, {opponents}}}")
    assert with_opponents | unrewarded() == on_the_page() - own() - of_evaluations()
    assert len(of_self_play()) == 8


def test_metrics_of_a_population_and_of_a_penalty_that_follows(tmp_path: Path) -> None:
    section = "{members: 2, interval: 1, settings: {ent_coef: [0, 0.1]}}"
    words = ["kl_coef=1", "kl_coef_target=0.01", f"population={section}"]
    names = logged(tmp_path, *(f"policy.tagger.{word}" for word in words))
    found = {re.sub(r"/\d+/", "/<member>/", name).replace("/ent_coef", "/<setting>") for name in names}
    expected = {name for name in own() if not name.startswith(("env/", "curriculum/", "eval/"))}
    assert {name for name in found if name.startswith("population/") or name.endswith("/kl_coef")} == expected


@pytest.mark.usefixtures("optimised")
@pytest.mark.long
def test_metrics_of_environments_are_those_of_the_page() -> None:
    text = " ".join(page("metrics").split())
    sentence = text[text.index("Of the packaged environments,") :].split(". Of ")[0]
    found = {}
    for name in packaged_names():
        environment = get_environment(name)()
        if metrics := own_metrics(environment, placed_groups(environment)):
            found[name] = {metric.name.split("/")[-1] for metric in metrics}
    parts = re.split(rf"\b({'|'.join(found)})\b", sentence)[1:]
    named = {name: set(re.findall(r"`(\w+)`", words)) for name, words in zip(parts[::2], parts[1::2], strict=True)}
    assert named == found
    assert {name for name in own() if name.startswith("env/")} == {"env/<array>", "env/<group>/<array>"}


def test_metrics_of_ppo_only(tmp_path: Path) -> None:
    frozen = logged(tmp_path, "policy.tagger.train=false", "policy.runner.train=false")
    of_learners = ("learning_rate", "<policy>/update_s")
    learning = {name for name in on_the_page() if "losses/" in name or name.endswith(of_learners)}
    assert frozen | unrewarded() == on_the_page() - learning - of_self_play() - own() - of_evaluations()
    text = page("metrics")
    of_ppo = set(re.findall(r"^\| `([^`]+)` \| PPO only", text, re.MULTILINE))
    path = tmp_path / "a2c.yaml"
    path.write_text(
        "name: cartpole\n"
        "trainer: {device: cpu, num_envs: 2, num_steps: 8, total_env_steps: 16}\n"
        "policy: {agent: {algorithm: a2c}}\n"
    )
    config = load_config(path)
    run = Run.create(config, tmp_path)
    names = {name.replace("/agent/", "/<policy>/") for name in Trainer(config).train(run)}
    run.close()
    assert on_the_page() - of_self_play() - own() - of_evaluations() - unrewarded() - names == of_ppo
    assert len(of_ppo) == 3


@pytest.mark.long
def test_a_logger_of_ones_own(working_folder: Path) -> None:
    (code,), (command,) = blocks(page("metrics"), "python"), blocks(page("metrics"), "sh")
    assert len(code.splitlines()) <= 15
    (working_folder / "my_loggers.py").write_text(code)
    small = ["trainer.device=cpu", "trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=128"]
    learning = ["policy.agent.num_minibatches=1", "policy.agent.update_epochs=1", "saving.checkpoint_every=1"]
    words = [*shlex.split(command)[1:], *small, *learning]
    assert main([*words, "--stop-at", "64"]) == 0
    (run,) = (working_folder / "runs").iterdir()
    with (run / "returns.csv").open("a") as table:
        table.write("96,lost\n")  # of a session that was killed before its checkpoint
    assert main(["train", "--resume", str(run)]) == 0
    rows = [row.split(",") for row in (run / "returns.csv").read_text().splitlines()]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert rows == [[str(line["env_steps"]), str(line["charts/agent/episodic_return"])] for line in lines]
    assert len(rows) == 4
