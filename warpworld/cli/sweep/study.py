"""The Optuna study of a sweep: storage, sampler, pruner, and whether an earlier one is of the same sweep."""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.sweep.sweep_file import Space, SweepFile
from warpworld.errors import SweepError
from warpworld.runs import flat, shown_value

if TYPE_CHECKING:
    import optuna

HEARTBEAT_SECONDS, GRACE_SECONDS = 10, 30  # a trial whose worker is silent for longer returns to the study
MOST_RETRIES = 3
OPEN_ATTEMPTS, OPEN_SECONDS = 10, 0.5
MOST_NAMED = 3  # differences that a message lists
ABOUT = "sweep"  # the study's attribute that holds what the sweep is about
SAMPLERS = {
    "tpe": ("TPESampler", None),
    "random": ("RandomSampler", None),
    "nsgaii": ("NSGAIISampler", None),
    "brute_force": ("BruteForceSampler", None),
    "gp": ("GPSampler", "scipy"),
    "cmaes": ("CmaEsSampler", "cmaes"),
    "qmc": ("QMCSampler", "scipy"),
}


def open_study(file: SweepFile) -> optuna.Study:
    """The study of a sweep, a new one if its storage has none.

    Raises:
        SweepError: a package is missing, the storage cannot be opened, or the study is of another sweep.
    """
    package = import_optuna()
    sampler = _sampler(file.sweep.sampler)
    from sqlalchemy.exc import DBAPIError

    # the study, in several attempts
    for attempt in range(OPEN_ATTEMPTS):
        try:
            study = _created(package, file, sampler)
            break
        except Exception as error:  # SQLAlchemy's and the drivers' own
            if isinstance(error, DBAPIError) and attempt < OPEN_ATTEMPTS - 1:
                time.sleep(OPEN_SECONDS)  # another worker may be making the tables
                continue
            raise SweepError(f"storage '{storage_url(file)}' cannot be opened: {str(error).splitlines()[0]}") from error
    about = file.about()
    _check_same(study.user_attrs.get(ABOUT, about), about, file)
    study.set_user_attr(ABOUT, about)
    return study


def _created(package: Any, file: SweepFile, sampler: Any) -> optuna.Study:
    """The study in its storage, made there if it is not."""
    storage = package.storages.RDBStorage(
        storage_url(file),
        heartbeat_interval=HEARTBEAT_SECONDS,
        grace_period=GRACE_SECONDS,
        heartbeat_stale_trial_callback=package.storages.RetryHeartbeatStaleTrialCallback(max_retry=MOST_RETRIES),
    )
    study: optuna.Study = package.create_study(
        study_name=file.name,
        storage=storage,
        sampler=sampler,
        pruner=_pruner(file.sweep.pruner),
        direction=file.sweep.direction.replace("ise", "ize"),
        load_if_exists=True,
    )
    return study


def import_optuna() -> Any:
    """The package, which logs nothing below a warning.

    Raises:
        SweepError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise SweepError(
            "sweeps need the package optuna, which is not installed: pip install 'warpworld[sweep]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    warnings.filterwarnings("ignore", "Heartbeat of storage is supposed")  # trials.py records it by itself
    return optuna


def storage_url(file: SweepFile) -> str:
    """The storage as a database's URL; a file is one of SQLite."""
    given = file.sweep.storage or str(Path(file.base.saving.directory) / f"{file.name}.db")
    if "://" in given:
        return given
    Path(given).parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{given}"


def distributions(file: SweepFile) -> dict[str, Any]:
    """Optuna's form of the spaces, by key; a list's values are YAML text."""
    return {key: _distribution(space) for key, space in file.sweep.search.items()}


def _distribution(space: Space) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if space.whole is not None:
        return IntDistribution(*space.whole)
    if space.ends is not None:
        return FloatDistribution(*space.ends, log=space.log_range is not None)
    return CategoricalDistribution(space.probes())


def _sampler(name: str) -> Any:
    import optuna

    kind, package = SAMPLERS[name]
    if package is not None and find_spec(package) is None:
        raise SweepError(f"sampler: {name} needs the package {package}, which is not installed: pip install {package}")
    options = {"constant_liar": True} if name == "tpe" else {}  # trials that run side by side then differ
    return getattr(optuna.samplers, kind)(**options)


def _pruner(name: str) -> Any:
    """The pruner; its steps are hundredths of a run's budget."""
    from optuna import pruners

    from warpworld.cli.sweep.startup import STARTUP_TRIALS, AfterStartup

    if name == "asha":
        return AfterStartup(pruners.SuccessiveHalvingPruner(min_resource=10, reduction_factor=3))
    if name == "hyperband":
        return AfterStartup(pruners.HyperbandPruner(min_resource=10, max_resource=100, reduction_factor=3))
    return pruners.MedianPruner(STARTUP_TRIALS, n_warmup_steps=10) if name == "median" else pruners.NopPruner()


def _check_same(there: Any, here: Any, file: SweepFile) -> None:
    """Refuse a study of another sweep, and say what differs."""
    # settings that differ
    before, now = dict(flat(there)), dict(flat(here))
    keys = [key for key in dict.fromkeys([*before, *now]) if before.get(key, "-") != now.get(key, "-")]
    if not keys:
        return
    # some of them in words
    said = [
        f"{key.replace('/', '.')} is {shown_value(key, before.get(key, '-'))} there and "
        f"{shown_value(key, now.get(key, '-'))} here"
        for key in keys[:MOST_NAMED]
    ]
    more = [f"{len(keys) - MOST_NAMED} more"] if len(keys) > MOST_NAMED else []
    raise SweepError(
        f"study '{file.name}' in '{storage_url(file)}' is of another sweep: {'; '.join([*said, *more])}. "
        "Give this one another name or storage"
    )
