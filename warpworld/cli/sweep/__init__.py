"""Many runs of one config, each trained by a process of its own: over seeds, and over settings that Optuna chooses."""
