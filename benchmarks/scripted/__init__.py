"""What players that follow a rule earn: a measured reference beside what is learnt.

``python -m benchmarks.scripted`` plays the gallery's environments with one rule each and prints their
returns; ``--save FILE`` keeps them as JSON. Rules read the state of the game, which policies need not see. They show
what a simple plan earns, not what can be learnt from the same observations.
"""
