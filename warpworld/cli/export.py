"""`warpworld export`: a run's policies as files that run without warpworld."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import CHECKPOINT
from warpworld.errors import RunError
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.policies import Policy
    from warpworld.policies.exporting import Exported
    from warpworld.runs import Run, Which


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    export = commands.add_parser(
        "export",
        help="write a run's policies as ONNX or pt2 files, which run without warpworld",
        description="Write each policy of a run as one file that takes raw observations and gives greedy actions, run "
        "it, and compare it with the policy.",
    )
    export.add_argument("run", metavar="RUN", help="a run folder, as `warpworld train` makes")
    export.add_argument("--policy", metavar="NAME", help="only this policy (default: all that do not act at random)")
    export.add_argument(
        "--format", metavar="onnx|pt2", default="onnx", help="onnx for ONNX Runtime, pt2 for torch (default: onnx)"
    )
    export.add_argument("--checkpoint", **CHECKPOINT)
    export.add_argument("--output", metavar="FOLDER", help="where the files go (default: RUN/export)")
    export.set_defaults(command=_export)


def _export(arguments: argparse.Namespace) -> int:
    from warpworld.policies.exporting import export_policy
    from warpworld.runs import Run

    run = Run.open(arguments.run)
    policies = _policies(run, arguments.policy, arguments.checkpoint)
    folder = Path(arguments.output or run.output_folder / "export")
    for name, policy in policies.items():
        iteration = _iteration(run, arguments.checkpoint, name)
        notes = {"run": run.path.resolve().name, "policy": name, "iteration": iteration}
        _print(export_policy(policy, folder / f"{name}.{arguments.format}", notes), iteration)
    return 0


def _policies(run: Run, name: str | None, checkpoint: Which) -> dict[str, Policy]:
    """The policies to export, by name."""
    from warpworld.trainers import load_policies
    from warpworld.trainers.from_python import load_policy

    if name is not None:
        return {name: load_policy(run, name, checkpoint)}
    found = {each: policy for each, policy in load_policies(run, checkpoint).items() if policy is not None}
    if not found:
        raise RunError(f"run '{run.path}' has no policy but random ones: there is nothing to export")
    return found


def _iteration(run: Run, checkpoint: Which, policy: str) -> int:
    """Iteration whose weights of a policy are exported; a policy that is not trained has them in all."""
    if checkpoint != "best":
        return run.checkpoints()[-1] if checkpoint is None else checkpoint
    best = run.load_checkpoint("best")["best"]
    return int(best[policy]["iteration"]) if policy in best else run.checkpoints()[-1]


def _print(exported: Exported, iteration: int) -> None:
    comparison, ports = exported.comparison, exported.interface
    print(f"{exported.path}: {exported.size / 1000:,.1f} kB, iteration {iteration}")
    print_columns([
        [f"  {way}", port.name, port.dtype, f"({', '.join(['batch', *map(str, port.shape)])})"]
        for way, some in (("in", ports.inputs), ("out", ports.outputs))
        for port in some
    ])  # fmt: skip
    print(f"  differs from the policy by at most {comparison.difference:.1e} on {comparison.observations} observations")
