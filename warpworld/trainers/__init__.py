"""Learning: rollouts, returns, losses and the training loop. Trainers know policies, groups and rollouts, no env."""
