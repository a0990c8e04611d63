"""Learning: rollouts, returns, losses and the training loop. Trainers know policies, groups and rollouts, no env."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.trainers.building import build_world as build_world
    from warpworld.trainers.cpu_tuning import tune_for_cpu as tune_for_cpu
    from warpworld.trainers.evaluations import measures_of as measures_of
    from warpworld.trainers.group_actors import actor_of as actor_of
    from warpworld.trainers.group_actors import acts_greedily as acts_greedily
    from warpworld.trainers.group_actors import build_actors as build_actors
    from warpworld.trainers.loaded_policies import load_policies as load_policies
    from warpworld.trainers.loaded_policies import policies_with as policies_with
    from warpworld.trainers.readings import PlayedMetrics as PlayedMetrics
    from warpworld.trainers.readings import Rewards as Rewards
    from warpworld.trainers.rounds import PATIENCE as PATIENCE
    from warpworld.trainers.rounds import played_world as played_world
    from warpworld.trainers.rounds import whole_rounds as whole_rounds
    from warpworld.trainers.timing import Times as Times
    from warpworld.trainers.timing import timed_iterations as timed_iterations
    from warpworld.trainers.trainer import Trainer as Trainer
else:
    __getattr__, __dir__ = lazy_names(__name__)
