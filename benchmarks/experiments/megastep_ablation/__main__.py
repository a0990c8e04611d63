"""``python -m benchmarks.experiments.megastep_ablation``."""

from .main import main

if __name__ == "__main__":
    main()
