"""What an environment measures of policies: evaluations log it, `warpworld eval` prints it, and faults are named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from warpworld import Group
from warpworld.cli.main import main
from warpworld.config import ModelConfig, RunConfig, config_from_dict
from warpworld.environment import Environment, Probabilities, get_environment
from warpworld.envs.poker.kuhn_poker import KuhnPoker
from warpworld.envs.poker.poker import game_tree
from warpworld.errors import DeclarationError, StoreError
from warpworld.policies import Policy, build_policy
from warpworld.runs import Run
from warpworld.trainers.building import build_policies
from warpworld.trainers.evaluations import measures_of
from warpworld.trainers.trainer import Trainer


def kuhn(**policies: Any) -> RunConfig:
    """A short run of Kuhn poker that is evaluated."""
    return config_from_dict(
        {
            "name": "kuhn_poker",
            "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 128, "device": "cpu"},
            "policy": policies or {"player": {"groups": ["first", "second"], "algorithm": "ppo"}},
            "saving": {"eval_every": 2, "eval_episodes": 8, "loggers": []},
        }
    )


def built(config: RunConfig) -> dict[str, Policy | None]:
    return build_policies(config, config.make_environment(), torch.Generator().manual_seed(3))


def of_kuhn(config: RunConfig, policies: Mapping[str, Policy | None], greedy: bool = False) -> dict[str, float]:
    return measures_of(config, config.make_environment(), policies, greedy)


def by_hand(policies: list[Policy | None]) -> float:
    """Exploitability of both players' policies, by the softmax of their outputs in NumPy."""
    tree = game_tree(KuhnPoker.rules)
    found = []
    for policy, seen, mask in zip(policies, tree.observations, tree.masks, strict=True):
        logits = np.zeros(mask.shape)
        if policy is not None:
            with torch.no_grad():
                rows = torch.from_numpy(seen).float().to(next(policy.parameters()).device)
                logits = policy.model.actor(rows).double().cpu().numpy()  # type: ignore[operator]
        found.append(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))
    return tree.exploitability(found)


@pytest.mark.long
def test_an_evaluation_logs_it_and_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = kuhn()
    run = Run.create(config, tmp_path)
    trainer, logged = Trainer(config), list[dict[str, Any]]()
    trainer.train(run, lambda metrics: logged.append(dict(metrics)))
    run.close()
    assert ["eval/exploitability" in metrics for metrics in logged] == [False, True]
    expected = by_hand([trainer.policies["player"]] * 2)
    assert logged[-1]["eval/exploitability"] == pytest.approx(expected, abs=1e-6)
    assert main(["eval", str(run.path), "--episodes", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("exploitability"))
    assert float(line.split()[-1]) == pytest.approx(expected, abs=1e-3)
    assert main(["eval", str(run.path), "--episodes", "8", "--greedy"]) == 0
    greedily = of_kuhn(config, trainer.policies, greedy=True)["eval/exploitability"]
    assert abs(greedily - expected) > 0.01
    assert f"{greedily:.3f}" in capsys.readouterr().out


def test_policies_of_each_side_and_one_that_acts_at_random() -> None:
    config = kuhn(one={"groups": ["first"], "algorithm": "ppo"}, other={"groups": ["second"], "algorithm": "random"})
    policies = built(config)
    assert policies["other"] is None
    found = of_kuhn(config, policies)
    assert found["eval/exploitability"] == pytest.approx(by_hand([policies["one"], None]), abs=1e-6)
    at_random = of_kuhn(config, dict.fromkeys(policies))
    assert at_random == {"eval/exploitability": pytest.approx(11 / 24), "eval/first_gain": pytest.approx(1 / 8)}


def test_a_policy_with_memory_is_left_out() -> None:
    model = {"recurrent": "gru", "recurrent_size": 8}
    config = kuhn(player={"groups": ["first", "second"], "algorithm": "ppo", "model": model, "num_minibatches": 1})
    policies = built(config)
    assert of_kuhn(config, policies) == {}
    policy = policies["player"]
    assert policy is not None
    with pytest.raises(StoreError, match="expected a policy without memory that makes choices; this one has a memory"):
        policy.probabilities(np.zeros(9, bool))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, "gives float, expected a mapping of names to numbers"),
        ({"a/b": 1.0}, "gives a number named 'a/b', expected a text without '/'"),
        ({"gap": float("nan")}, "gives nan as gap, expected a finite number"),
        ({"gap": "1"}, "gives '1' as gap, expected a finite number"),
        (KeyError("third"), "fails: KeyError: 'third'"),
    ],
)
def test_what_is_no_number_by_name(given: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(self: Environment, probabilities: Mapping[str, Probabilities]) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    monkeypatch.setattr(get_environment("kuhn_poker"), "measure", measure)
    config = kuhn()
    with pytest.raises(DeclarationError) as caught:
        of_kuhn(config, built(config))
    assert str(caught.value) == f"kuhn_poker: measure() {message}"


class Nested(Environment):
    """Sees a Dict, and chooses from two heads; measures how probable the first choice of each is."""

    def groups(self) -> list[Group]:
        """One agent."""
        seen = Dict({"place": Box(-1.0, 1.0, (2,)), "day": Discrete(7)})
        return [Group("agent", 1, seen, MultiDiscrete((3, 2)))]

    def measure(self, probabilities: Mapping[str, Probabilities]) -> Mapping[str, float]:
        """The sums of probabilities in one observation, one choice of which is illegal."""
        seen = {"place": np.zeros((1, 2), np.float32), "day": np.zeros(1, np.int32)}
        found = probabilities["agent"](seen, np.array([[True, False, True, True, True]]))
        return {"illegal": found[0, 1], "first": found[0, :3].sum(), "second": found[0, 3:].sum()}


@pytest.mark.parametrize("greedy", [False, True])
def test_several_heads_and_a_nested_observation(greedy: bool) -> None:
    environment = Nested()
    config = kuhn()
    (group,) = environment.groups()
    policy = build_policy(ModelConfig(), group, torch.Generator().manual_seed(1))
    nested = config.model_copy(
        update={"policy": {"agent": config.policy["player"].model_copy(update={"groups": ["agent"]})}}
    )
    for player in (policy, None):
        found = measures_of(nested, environment, {"agent": player}, greedy)
        assert found == {"eval/illegal": 0.0, "eval/first": pytest.approx(1.0), "eval/second": pytest.approx(1.0)}
