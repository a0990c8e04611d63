"""Functions that Python programs and notebooks call: ``warpworld.train``, ``load_policy``, ``play``, ``rollout``."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.trainers.from_python.episodes import Episode as Episode
    from warpworld.trainers.from_python.episodes import played_episodes as played_episodes
    from warpworld.trainers.from_python.loading import load_policy as load_policy
    from warpworld.trainers.from_python.playing import play as play
    from warpworld.trainers.from_python.rollouts import rollout as rollout
    from warpworld.trainers.from_python.training import train as train
else:
    __getattr__, __dir__ = lazy_names(__name__)
