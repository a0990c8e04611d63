"""What the benchmark measures is the same work for every system. Speed itself is not tested."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks import main, shares
from benchmarks.__main__ import main as command
from benchmarks.learning import eager
from warpworld.policies import Categorical
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss


def test_the_usual_ppo_has_our_loss() -> None:
    torch.manual_seed(0)
    ppo = eager.PPO(eager.OurCartPole(16), num_steps=8, update_epochs=1, num_minibatches=2)
    ppo.rollout()
    seen, actions = ppo.observations.flatten(0, 1), ppo.actions.flatten()
    old, values = ppo.log_probs.flatten() + 0.3 * torch.randn(128), ppo.values.flatten() + torch.randn(128)
    advantages, returns = ppo.advantages.flatten(), ppo.returns.flatten()
    theirs = ppo.loss(seen, actions, old, advantages, returns, values)
    batch = Batch(seen, actions[:, None].int(), old, advantages, returns, values)
    terms = Categorical((2,)).log_prob_and_entropy(ppo.actor(seen), batch.actions)
    settings = PPOSettings(clip_coef=0.2, clip_vloss=True, norm_adv=True, ent_coef=0.01, vf_coef=0.5)
    ours, _ = ppo_loss(*terms, ppo.critic(seen).squeeze(-1), batch, settings)
    torch.testing.assert_close(theirs, ours)


@pytest.mark.parametrize("make", [eager.OurCartPole, eager.GymnasiumCartPole])
@pytest.mark.long
def test_the_usual_ppo_learns(make: Any) -> None:
    torch.manual_seed(0)
    ppo = eager.PPO(make(32), num_steps=64, update_epochs=8, num_minibatches=4)
    ends = []
    for group in ppo.optimizer.param_groups:
        group["lr"] = 2e-3
    for _ in range(12):
        ppo.rollout()
        ends.append(float(ppo.ends.mean()))
        ppo.update()
    assert ends[-1] < 0.6 * ends[0]  # episodes are longer


def test_shares(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shares, "NUM_ENVS", 20)
    monkeypatch.setattr(shares, "NUM_STEPS", 2)
    before = torch.get_num_threads()
    main.run(only="rollout", seconds=1e-4)
    assert "rollout, tag_gridworld" in capsys.readouterr().out
    assert torch.get_num_threads() == before


def test_a_word_that_selects_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["--only", "cartpol_e", "--seconds", "1e-6"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error: no benchmark's name contains 'cartpol_e'. Did you mean 'cartpole'? "
        "Known: cartpole, pendulum, recall, minatar_breakout, minatar_freeway, tag_gridworld, tag_continuous, "
        "explorer, deathmatch, adapters, export, gallery, learning, off-policy, replay, rollout\n"
    )
