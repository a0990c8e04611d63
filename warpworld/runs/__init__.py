"""Run folders: their files, checkpoints and logs, and how a run is taken up again."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.runs.array_files import ArrayReader as ArrayReader
    from warpworld.runs.array_files import Seal as Seal
    from warpworld.runs.array_files import Writing as Writing
    from warpworld.runs.array_files import check_seal as check_seal
    from warpworld.runs.array_files import piece_lengths as piece_lengths
    from warpworld.runs.array_files import reading as reading
    from warpworld.runs.array_files import writing as writing
    from warpworld.runs.checkpoints import RESUMABLE as RESUMABLE
    from warpworld.runs.checkpoints import Which as Which
    from warpworld.runs.differences import MISSING as MISSING
    from warpworld.runs.differences import differing as differing
    from warpworld.runs.differences import flat as flat
    from warpworld.runs.differences import labels as labels
    from warpworld.runs.differences import rounded as rounded
    from warpworld.runs.differences import shown_value as shown_value
    from warpworld.runs.folder import RUNS as RUNS
    from warpworld.runs.folder import RunFolder as RunFolder
    from warpworld.runs.folder import as_folder_name as as_folder_name
    from warpworld.runs.folder import found_folder as found_folder
    from warpworld.runs.folder import is_free as is_free
    from warpworld.runs.machine import describe_machine as describe_machine
    from warpworld.runs.machine import processor_name as processor_name
    from warpworld.runs.metrics import EPISODES as EPISODES
    from warpworld.runs.metrics import FEWEST_EPISODES as FEWEST_EPISODES
    from warpworld.runs.metrics import LEVEL as LEVEL
    from warpworld.runs.metrics import RETURN as RETURN
    from warpworld.runs.metrics import UNREWARDED as UNREWARDED
    from warpworld.runs.metrics import Damage as Damage
    from warpworld.runs.metrics import Point as Point
    from warpworld.runs.metrics import RecentMean as RecentMean
    from warpworld.runs.metrics import Unrewarded as Unrewarded
    from warpworld.runs.metrics import Values as Values
    from warpworld.runs.metrics import bootstrap_interval as bootstrap_interval
    from warpworld.runs.metrics import episodes_of as episodes_of
    from warpworld.runs.metrics import good_rows as good_rows
    from warpworld.runs.metrics import interquartile_mean as interquartile_mean
    from warpworld.runs.metrics import mean_of_last_tenth as mean_of_last_tenth
    from warpworld.runs.metrics import of_episodes as of_episodes
    from warpworld.runs.metrics import own_metrics as own_metrics
    from warpworld.runs.metrics import points_of as points_of
    from warpworld.runs.metrics import probability_of_improvement as probability_of_improvement
    from warpworld.runs.metrics import read_metrics as read_metrics
    from warpworld.runs.metrics import recent_means as recent_means
    from warpworld.runs.metrics import stratified_interval as stratified_interval
    from warpworld.runs.metrics import unbroken as unbroken
    from warpworld.runs.metrics import whole_lines as whole_lines
    from warpworld.runs.over_seeds import FEWEST_SEEDS as FEWEST_SEEDS
    from warpworld.runs.over_seeds import HEADING as HEADING
    from warpworld.runs.over_seeds import STATISTICS as STATISTICS
    from warpworld.runs.over_seeds import final_returns as final_returns
    from warpworld.runs.over_seeds import statistics_of as statistics_of
    from warpworld.runs.resume import check_counters as check_counters
    from warpworld.runs.resume import check_same_config as check_same_config
    from warpworld.runs.resume import check_same_environment as check_same_environment
    from warpworld.runs.resume import check_same_trajectory as check_same_trajectory
    from warpworld.runs.resume import resumed_config as resumed_config
    from warpworld.runs.run import Run as Run
    from warpworld.runs.run_data import RunData as RunData
    from warpworld.runs.run_data import read_runs as read_runs
    from warpworld.runs.summary import RunSummary as RunSummary
    from warpworld.runs.summary import is_training as is_training
    from warpworld.runs.summary import run_folders as run_folders
    from warpworld.runs.summary import summarise as summarise
    from warpworld.runs.watching import growths as growths
else:
    __getattr__, __dir__ = lazy_names(__name__)
