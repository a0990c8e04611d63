"""Why Deathmatch learns slowly by megastep's rules: the same training, with its suspected causes fixed one by one.

``python -m benchmarks.experiments.megastep_ablation`` trains each arm for the same time of one core.
What was learnt is then examined against opponents that act at random, never by the rewards, which differ. With
``--save FILE`` each arm is kept as soon as it is done, beside those that the file holds: arms may be run one by one
with ``--only``, and two at the same time. ``--draw`` and ``--page`` show all that the file holds.
"""
