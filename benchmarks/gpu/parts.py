"""Parts of the suite, the most important first.

A limit ends what hangs. Those of the parts up to "profile" fit together into the budget of a run. What is long or
exhaustive comes behind and gets what is left.
"""

from __future__ import annotations

from .part import NO_FMAD, Part

PARTS = (
    Part("machine", "which GPU, which versions", ".machine:report", 15, needs_cuda=False),
    Part(
        "builds",
        "every env compiles and takes a few steps",
        ".builds:build",
        50,
        least=20,
        needs_cuda=False,
        correctness=True,
    ),
    Part("rates", "what copies and products reach: all floors are by it", ".rates:measure_rates", 12, needs_cuda=False),
    # right results
    Part("compare", "every env: cuda against cpu", ".compare:within_tolerance", 45, least=20, correctness=True),
    Part("zero_copy", "kernels and torch share one memory", ".zero_copy:prove", 15, correctness=True, needs_cuda=False),
    Part("adapters", "adapters share the store", ".adapters:prove", 10, correctness=True, needs_cuda=False),
    Part("replay", "a replay inserts, draws and weighs as on cpu", ".replay_cycle:compare", 20, correctness=True),
    Part("graphs", "replayed rollouts equal eager ones", ".graphs:compare", 17, correctness=True),
    Part("acting", "policies act in one kernel as in torch", ".acting:compare", 17, correctness=True),
    # speed
    Part("launches", "host time of a launch and of a replay", ".launches:measure_launches", 14, needs_cuda=False),
    Part("tag_gridworld", "tag_gridworld, three columns", ".columns:tag_gridworld", 30, least=20, needs_cuda=False),
    Part("warpdrive_gridworld", "WarpDrive's tag_gridworld", ".warpdrive:tag_gridworld", 24, least=20),
    Part("tag_gridworld_1000", "1000 agents on a grid, no policy", ".columns:thousand_on_a_grid", 15, needs_cuda=False),
    Part("tag_continuous", "tag_continuous, three columns", ".columns:tag_continuous", 38, least=20, needs_cuda=False),
    Part("warpdrive_continuous", "WarpDrive's tag_continuous", ".warpdrive:tag_continuous", 28, least=20),
    Part("tag_continuous_1000", "1000 agents, 10 nearest, no policy", ".columns:thousand_agents", 15, needs_cuda=False),
    Part("cartpole", "cartpole, random actions", ".columns:cartpole", 15, needs_cuda=False),
    Part("breakout", "Breakout trained by PPO with a MinGRU, bf16", ".breakout:train", 20, least=15, needs_cuda=False),
    Part("eyes", "worlds with eyes, random actions", ".eyes:measure_eyes", 52, least=35, needs_cuda=False),
    Part(
        "learners",
        "iterations of PPO, DQN, R2D2, SAC, VDN, QMIX, MAPPO and a league",
        ".learners:train",
        46,
        least=25,
        correctness=True,
        needs_cuda=False,
    ),
    Part("profile", "where a training iteration goes", ".profile:profile_iterations", 18),
    # exhaustive or long
    Part(
        "hide_and_seek",
        "hide and seek, random actions",
        ".hide_and_seek:measure_hide_and_seek",
        30,
        least=12,
        needs_cuda=False,
    ),
    Part(
        "compare_exact",
        "compare without fused multiply-add: bit for bit where no libm function is called",
        ".compare:bit_for_bit",
        90,
        least=20,
        correctness=True,
        environment=NO_FMAD,
    ),
    Part(
        "tag_gridworld_thousands",
        "2,000 and 10,000 agents on a grid, no policy",
        ".columns:thousands_on_a_grid",
        40,
        least=15,
        needs_cuda=False,
    ),
    Part("scaling", "64 to 262,144 envs", ".scaling:scale", 75, least=20, needs_cuda=False),
    Part("sweep", "two trials of a sweep", ".sweep:search", 60, least=30, correctness=True, needs_cuda=False),
    Part("gymnax", "gymnax's CartPole under JAX", ".gymnax_cartpole:measure_gymnax", 60, least=20, needs_cuda=False),
    Part("memcheck", "compute-sanitizer on every env's kernels", ".sanitizer:memcheck", 90, least=30, correctness=True),
    # all that is left: its oracles are NumPy's, which has no fused multiply-add
    Part(
        "contract",
        "the tests of envs, eyes, worlds and trainers on cuda",
        ".contract:run_tests",
        500,
        least=60,
        correctness=True,
        environment=NO_FMAD,
    ),
)
