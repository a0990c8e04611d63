"""Whether agents learn, and how long it takes: small experiments, each from several seeds.

``python -m benchmarks.experiments`` trains them all and prints a table; ``--save FILE`` keeps figures and
curves as JSON, ``--draw FILE`` draws the curves. Every run counts its wall time from nothing: world, kernels (from the
build cache, where they are there), training; the gallery's count CPU time. What was learnt is then played, beside
random agents.
"""

from .battle import BATTLE
from .boards import BOARDS
from .cartpole import CARTPOLE
from .coins import COINS
from .deathmatch import DEATHMATCH
from .epidemic import EPIDEMIC
from .explorer import EXPLORER
from .gallery import GALLERY
from .mixing import MIXING
from .off_policy import OFF_POLICY
from .particles import PARTICLES
from .skirmish import SKIRMISH, SKIRMISH_MAPPO
from .tag_continuous import TAG_CONTINUOUS
from .tag_gridworld import TAG_GRIDWORLD
from .waypoint import POINT_GOAL, WAYPOINT

_ALL = (
    CARTPOLE,
    TAG_GRIDWORLD,
    TAG_CONTINUOUS,
    EXPLORER,
    WAYPOINT,
    POINT_GOAL,
    DEATHMATCH,
    BATTLE,
    COINS,
    EPIDEMIC,
    SKIRMISH,
    SKIRMISH_MAPPO,
    *OFF_POLICY,
    *MIXING,
    *BOARDS,
    *GALLERY,
    *PARTICLES,
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
