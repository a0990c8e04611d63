"""Many runs of one config, each trained by a process of its own: over seeds, and over settings that Optuna chooses."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.cli.sweep.finding import found_run as found_run
    from warpworld.cli.sweep.seeds import seeded_configs as seeded_configs
    from warpworld.cli.sweep.seeds import train_seeds as train_seeds
    from warpworld.cli.sweep.worker_processes import Training as Training
    from warpworld.cli.sweep.worker_processes import Workers as Workers
else:
    __getattr__, __dir__ = lazy_names(__name__)
