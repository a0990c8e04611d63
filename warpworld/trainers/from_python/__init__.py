"""Functions that Python programs and notebooks call: ``warpworld.train``, ``load_policy``, ``play``, ``rollout``."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.trainers.from_python.episode_arrays import KINDS as KINDS
    from warpworld.trainers.from_python.episode_arrays import arrays_of_group as arrays_of_group
    from warpworld.trainers.from_python.episode_arrays import npz_of as npz_of
    from warpworld.trainers.from_python.episodes import Episode as Episode
    from warpworld.trainers.from_python.episodes import played_episodes as played_episodes
    from warpworld.trainers.from_python.kept_steps import episode_of as episode_of
    from warpworld.trainers.from_python.loading import load_policy as load_policy
    from warpworld.trainers.from_python.playing import play as play
    from warpworld.trainers.from_python.rollouts import rollout as rollout
    from warpworld.trainers.from_python.training import train as train
else:
    __getattr__, __dir__ = lazy_names(__name__)
