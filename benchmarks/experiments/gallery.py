"""The gallery's configs that no published table has: each reaches a stated return within 5 minutes of two cores."""

from .greedy import Wanted, learns

CPU_SECONDS = 600  # of 5 minutes on two cores

GALLERY = (
    learns("acrobot", "greedy episodes of -100", Wanted({"agent": -100.0}, cpu_seconds=CPU_SECONDS)),
    learns("mountain_car", "greedy episodes of -110", Wanted({"agent": -110.0}, cpu_seconds=CPU_SECONDS)),
    learns("mountain_car_continuous", "greedy episodes of 90", Wanted({"agent": 90.0}, cpu_seconds=CPU_SECONDS)),
    learns(
        "delayed_reward",
        "each cue named in every greedy episode",
        Wanted({"agent": 10.0}, cpu_seconds=CPU_SECONDS),
    ),
    learns(
        "signalling",
        "each state understood in every greedy episode",
        Wanted({"sender": 1.0, "receiver": 1.0}, cpu_seconds=CPU_SECONDS),
    ),
    learns("chain", "the far end in every greedy episode", Wanted({"agent": 1.0}, cpu_seconds=CPU_SECONDS)),
    learns("pendulum", "greedy episodes of -200", Wanted({"agent": -200.0}, cpu_seconds=CPU_SECONDS)),
    learns(
        "recall", "what was seen 20 steps ago is named, 0.95 of 1", Wanted({"agent": 0.95}, cpu_seconds=CPU_SECONDS)
    ),
    learns(
        "foraging",
        "0.45 a player, of 0.5 at most; players draw their actions, since two who always do the same block each other",
        Wanted({"player": 0.45}, cpu_seconds=CPU_SECONDS, greedy=False, episodes=1000),
    ),
    learns(
        "warehouse",
        "a robot delivers sixteen shelves in an episode, by drawn actions",
        Wanted({"robot": 16.0}, cpu_seconds=CPU_SECONDS, greedy=False, episodes=200),
    ),
    learns(
        "particles_speaker_listener",
        "episodes of -9, where a listener that cannot tell words apart earns -16",
        Wanted({"listener": -9.0}, cpu_seconds=CPU_SECONDS),
    ),
    learns(
        "particles_reference",
        "episodes of -13, where agents that cannot tell words apart earn -17.6",
        Wanted({"agent": -13.0}, cpu_seconds=CPU_SECONDS),
    ),
)
