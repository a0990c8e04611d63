"""Teams learnt by PPO, MAPPO, VDN and QMIX: the same tasks, the same env steps, several seeds.

``python -m benchmarks.teams`` trains each algorithm on each task and prints a table; ``--save FILE`` keeps
scores and curves as JSON, ``--load FILE`` shows them again, ``--draw FILE`` draws the curves. PPO and MAPPO have a
task's packaged settings, which were chosen for PPO. VDN and QMIX have one set of settings for all tasks, chosen with
VDN on foraging and skirmish, but QMIX has half of VDN's step size. All have the task's discount. PPO's agents learn
independently, as IPPO's do.
"""

from .tasks import ALGORITHMS, TASKS

__all__ = ["ALGORITHMS", "TASKS"]
