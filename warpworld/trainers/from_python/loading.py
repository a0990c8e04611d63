"""``warpworld.load_policy``: what a run has learnt."""

from __future__ import annotations

from pathlib import Path

from warpworld.config import ScriptConfig
from warpworld.errors import RunError, suggest
from warpworld.policies import Policy
from warpworld.runs import Run, Which
from warpworld.trainers.loaded_policies import load_policies


def load_policy(run: str | Path | Run, name: str | None = None, checkpoint: Which = None) -> Policy:
    """Load a policy of a run, on the CPU; ``policy.act(observations)`` returns its actions.

    Args:
        run: the run, or its folder.
        name: of the policy; optional if only one policy of the run learns.
        checkpoint: the iteration whose checkpoint is loaded; None takes the latest,
            "best" that with the best evaluation.

    Raises:
        RunError: no such run, policy or checkpoint; or it does not fit the run's configuration.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    policies = load_policies(opened, checkpoint)
    learnt = [each for each, policy in policies.items() if policy is not None]
    # the only policy that learns, if none is named
    if name is None:
        if len(learnt) != 1:
            what = f"policies {', '.join(learnt)}; name one of them" if learnt else "no policy but random ones"
            raise RunError(f"run '{opened.path}' has {what}")
        name = learnt[0]
    # a policy that exists and learns
    if name not in policies:
        known = ", ".join(policies)
        raise RunError(f"run '{opened.path}' has no policy '{name}'.{suggest(name, policies)} Its policies: {known}")
    policy = policies[name]
    if policy is None:
        entry = opened.config.policy[name]
        how = f"is played by the script '{entry.script}'" if isinstance(entry, ScriptConfig) else "acts at random"
        raise RunError(f"policy '{name}' of run '{opened.path}' {how}: there is nothing to load")
    return policy
