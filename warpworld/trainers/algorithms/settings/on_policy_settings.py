"""Settings that all on-policy algorithms have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from warpworld.config import (
    Count,
    Fault,
    Flag,
    Fraction,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
    RewardSettings,
    Sizes,
)


class OnPolicySettings(RewardSettings):
    """Settings that all on-policy algorithms have; they carry CleanRL's names and formulas."""

    learning_rate: PositiveSchedule = Field(default=2.5e-4, description="step size of the optimiser")
    optimizer: Literal["adam", "muon"] = Field(default="adam", description="adam; or muon, for matrices of weights")
    anneal_lr: Flag = Field(default=True, description="lower the learning rate linearly to 0 over the run")
    gamma: Fraction = Field(default=0.99, description="discount per step")
    gae_lambda: Fraction = Field(default=0.95, description="lambda of generalised advantage estimation")
    value_targets: Literal["gae", "vtrace"] = Field(
        default="gae", description="what values learn: gae; or vtrace, recomputed before each pass"
    )
    rho_bar: Positive = Field(default=1.0, description="V-trace's limit of the ratios that weigh TD errors")
    c_bar: Positive = Field(default=1.0, description="V-trace's limit of the ratios that carry them back, <= rho_bar")
    num_minibatches: Count = Field(default=4, description="parts of a rollout, one gradient step each")
    norm_adv: Flag = Field(default=True, description="normalise advantages per minibatch")
    ent_coef: NotNegativeSchedule = Field(default=0.01, description="weight of the entropy bonus")
    vf_coef: NotNegativeSchedule = Field(default=0.5, description="weight of the value loss")
    max_grad_norm: Positive = Field(default=0.5, description="longest gradient; longer ones are scaled down")
    normalise_returns: Literal["popart", "running"] | None = Field(
        default=None,
        description="values are learnt in units that follow the returns: popart, which keeps what they say as the "
        "units move, or running, which does not; null for units of reward",
    )
    ema_decay: Fraction | None = Field(
        default=None,
        lt=1,
        description="share that a moving average of the weights keeps in each update; evaluations and checkpoints "
        "then have the averaged weights; null keeps no average",
    )

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Rollouts divide into minibatches, and V-trace's limits go together."""
        yield from super().faults(sizes)
        if self.c_bar > self.rho_bar:
            yield Fault(("c_bar", "rho_bar"), f"c_bar is {self.c_bar}, expected at most its rho_bar, {self.rho_bar}")
        if self.ema_decay is not None and self.population is not None:
            text = f"ema_decay is {self.ema_decay:g}, but the policy is learnt by a population, whose best member it is"
            yield Fault(("ema_decay", "population"), f"{text}; set ema_decay=null")
        agents = f"{sizes.agents} agent{'s' * (sizes.agents != 1)}"
        rows = sizes.num_envs * sizes.num_steps * sizes.agents
        what = f"rows of a rollout: num_envs {sizes.num_envs} x num_steps {sizes.num_steps} x {agents}"
        if self.model.remembers:
            rows = sizes.num_envs * sizes.agents
            what = f"sequences that a recurrent policy learns from: num_envs {sizes.num_envs} x {agents}"
        if rows % self.num_minibatches:
            text = f"num_minibatches is {self.num_minibatches}, expected a divisor of the {rows} {what}"
            yield Fault(("num_minibatches",), text, of_sizes=True)
