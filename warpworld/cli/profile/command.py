"""`warpworld profile`: where the time of a config's training iterations goes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import seconds
from warpworld.cli.override_options import add_device, option_overrides
from warpworld.cli.profile.rates import DEVICES, EXAMPLE, device_rates
from warpworld.errors import ConfigError
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.profile.profile import Profile, Row

HEAD = ["part", "policy", "ms", "share", "GFLOP", "GFLOP/s", "of peak", "MB", "of memory's peak"]


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    profile = commands.add_parser(
        "profile",
        help="show where the time of an iteration goes",
        description="Train for a moment and time each part of an iteration: env step, policies, sampling, values, "
        "returns, gradients, optimisers; what one call of C++ or one CUDA graph does is one part. Counts operations, "
        "compares them with a plain product on this machine, and says what to change. Writes nothing.",
    )
    profile.add_argument(
        "words", metavar="CONFIG key=value", nargs="+", help="a YAML file or a packaged config, and overrides"
    )
    profile.add_argument("--seconds", type=seconds, default=5.0, help="that are measured, about (default: 5)")
    profile.add_argument("--json", action="store_true", help="print all figures for other programs")
    profile.add_argument(
        "--forecast",
        action="store_true",
        help="instead, print what an iteration asks of a GPU that need not be there: bytes, operations and the least "
        "time of every node",
    )
    profile.add_argument(
        "--rates",
        type=device_rates,
        metavar="DEVICE|RATES",
        help=f"of --forecast: {', '.join(DEVICES)} (default: h100), or rates of a copy, of a float32 and of a bf16 "
        f"product, such as {EXAMPLE}",
    )
    profile.add_argument("--draw", type=Path, metavar="FILE", help="also draw the parts as a PNG")
    add_device(profile, "train")
    profile.set_defaults(command=_profile, settings="words")


def _profile(arguments: argparse.Namespace) -> int:
    if arguments.forecast:
        return _forecast(arguments)
    if arguments.rates is not None:
        raise ConfigError(
            "--rates are those of a forecast, and this is a measurement; add --forecast, or leave them out"
        )
    from warpworld.cli.profile.advice import advice
    from warpworld.cli.profile.picture import draw_profile
    from warpworld.cli.profile.profile import profile
    from warpworld.config import load_endless
    from warpworld.managers.devices import open_backend
    from warpworld.trainers import tune_for_cpu

    # a config without an end
    name, *overrides = arguments.words
    config = load_endless(name, [*overrides, *option_overrides(arguments)])
    tune_for_cpu(open_backend(config.device).device)
    # the measurement
    found = profile(config, arguments.seconds)
    sentences = advice(found, config)
    # results, as JSON or as text, and a picture
    if arguments.json:
        print(json.dumps(_as_json(found, sentences)))
    else:
        _show(found, sentences)
    if arguments.draw is not None:
        draw_profile(found, config.name, arguments.draw)
    return 0


def _forecast(arguments: argparse.Namespace) -> int:
    from warpworld.cli.profile.forecast import forecast
    from warpworld.cli.profile.forecast_text import as_json, show
    from warpworld.config import load_endless

    if arguments.draw is not None:
        raise ConfigError("--draw draws times that were measured, and --forecast measures none; leave one of them out")
    name, *overrides = arguments.words
    config = load_endless(name, [*overrides, *option_overrides(arguments)])
    rates = arguments.rates or DEVICES["h100"]
    if config.trainer.precision == "bf16" and not rates.bf16:
        raise ConfigError(
            "trainer.precision is bf16, and the device of --rates has no products of bfloat16; take another, or float32"
        )
    found = forecast(config, rates)
    if arguments.json:
        print(json.dumps(as_json(found)))
    else:
        show(found, rates)
    return 0


def _show(found: Profile, sentences: list[str]) -> None:
    print_columns([HEAD, *(_line(row, found) for row in found.rows)])
    peak = found.peak
    print(
        f"\n{1e3 * found.seconds:,.1f} ms for {found.env_steps:,} env steps, mean of {found.iterations} iterations on "
        f"{found.device}; a plain product makes {peak.operations / 1e9:,.0f} GFLOP/s and a copy "
        f"{peak.nbytes / 1e9:,.0f} GB/s on {found.threads} thread{'s' * (found.threads != 1)} of torch"
    )
    for sentence in sentences:
        print(f"- {sentence}")


def _line(row: Row, found: Profile) -> list[str]:
    line = [row.part.name, row.part.policy, f"{1e3 * row.seconds:,.2f}", f"{row.seconds / found.seconds:.1%}"]
    if row.operations and row.seconds:
        speed = row.operations / row.seconds
        line += [f"{row.operations / 1e9:,.3f}", f"{speed / 1e9:,.1f}", f"{speed / found.peak.operations:.0%}"]
    else:
        line += ["", "", ""]
    if row.nbytes and row.by_torch and row.seconds:
        speed = row.nbytes / row.seconds
        return [*line, f"{row.nbytes / 1e6:,.1f}", f"{speed / found.peak.nbytes:.0%}"]
    return [*line, "", ""]


def _as_json(found: Profile, sentences: list[str]) -> dict[str, Any]:
    rows = [
        {
            "part": row.part.name,
            "policy": row.part.policy,
            "seconds": row.seconds,
            "operations": row.operations,
            "bytes": row.nbytes if row.by_torch else None,
        }
        for row in found.rows
    ]
    return {
        "seconds": found.seconds,
        "env_steps": found.env_steps,
        "iterations": found.iterations,
        "device": found.device,
        "threads": found.threads,
        "peak_operations_per_s": found.peak.operations,
        "peak_bytes_per_s": found.peak.nbytes,
        "fused": found.fused,
        "parts": rows,
        "advice": sentences,
    }
