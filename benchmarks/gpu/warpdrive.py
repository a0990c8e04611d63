"""WarpDrive on the same GPU and on equal work: its own games, its own trainer, beside the parts of columns.py.

Equal are the games' parameters, the number of envs, the steps of a rollout, A2C with one pass in one piece, layers and
widths of the nets, and float32. Not equal: WarpDrive's net is one trunk with two heads, ours are two nets, which is
more work; it resets every env to the same start, and so do we here.
"""

from __future__ import annotations

from ..warpdrive import Run, measure
from ..warpdrive_shims import is_installed
from .cases import TAG_CONTINUOUS, TAG_GRIDWORLD, Case
from .columns import add_row
from .part import Context, PartialError, SkippedError

SEEDS = {"tag_gridworld": 20, "tag_continuous": 274880}  # of its run configurations
OURS_ALONE = ("start", "start_seed", "observe_own_state")


def tag_gridworld(context: Context) -> None:
    """2000 envs of 5 agents; [32, 32]."""
    _measure(context, TAG_GRIDWORLD, iterations=20)


def tag_continuous(context: Context) -> None:
    """2000 envs of 110 agents, 10 nearest; [256, 256]."""
    _measure(context, TAG_CONTINUOUS, iterations=8)


def _measure(context: Context, case: Case, iterations: int) -> None:
    if not is_installed():
        raise SkippedError("rl-warp-drive is not installed")
    found = measure(run_of(case, iterations))
    context.report(way=found.way, shims=found.shims)
    for column, timing in sorted(found.timings.items()):
        steps = 1 if column == "simulation" else case.num_steps
        add_row(context, case, column, timing, case.num_envs * steps, found.num_agents, system="WarpDrive")
    said = [f"{row['column']} {row['env_steps_per_s'] / 1e6:.3g} M" for row in context.figures["rows"]]
    headline = ", ".join(said) + " env steps/s"
    if found.failure:
        headline = f"its trainer fails: {found.failure}; {headline}"
    context.report(headline=headline)
    if found.failure:
        raise PartialError(headline)


def run_of(case: Case, iterations: int) -> Run:
    """The same run in WarpDrive's words."""
    env = {name: value for name, value in case.params.items() if name not in OURS_ALONE}
    policy = {
        "to_train": True,
        "algorithm": "A2C",
        "vf_loss_coeff": 1,
        "entropy_coeff": 0.05,
        "clip_grad_norm": True,
        "max_grad_norm": case.max_grad_norm,
        "normalize_advantage": False,
        "normalize_return": False,
        "gamma": 0.98,
        "lr": case.learning_rate,
        "model": {"type": "fully_connected", "fc_dims": list(case.hidden_sizes), "model_ckpt_filepath": ""},
    }
    return Run(
        name=case.name,
        env={**env, "seed": SEEDS[case.name]},
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        policies=dict.fromkeys(case.policies or {}, policy),
        iterations=iterations,
    )
