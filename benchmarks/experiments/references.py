"""What others report of the gallery's environments, each with its source: returns to compare learnt ones with."""

_GYMNASIUM = "Gymnasium 1.4.0's reward threshold"
_PGX = (
    "{} of Pgx's PPO after 20 million env steps with the same rules, read by eye from its curves "
    "(`examples/minatar-ppo` of `sotetsuk/pgx` on GitHub); the [scoreboard](scoreboard.md#minatar) compares the rules"
)
_MADDPG = (
    "no published table found for mpe2; PARL shows curves of MADDPG on the original game (`examples/MADDPG` of "
    "`PaddlePaddle/PARL` on GitHub)"
)

_MEGASTEP = "megastep, whose rules these are, reports no results of training"
_WARPDRIVE = "no published table found; WarpDrive, whose rules these are, shows moving pictures"

# environment -> a sentence without its full stop
REFERENCES = {
    "cartpole": f"475, {_GYMNASIUM}",
    "acrobot": f"-100, {_GYMNASIUM}",
    "mountain_car": f"-110, {_GYMNASIUM}",
    "mountain_car_continuous": f"90, {_GYMNASIUM}",
    "pendulum": "-230 with a deviation of 143, of Stable-Baselines3's PPO (model card `sb3/ppo-Pendulum-v1`)",
    "chain": "1, the most that can be earned",
    "coins": "8, what the best response to the script earns, computed",
    "delayed_reward": "10, the most that can be earned",
    "recall": "1, the most that can be earned",
    "signalling": "1, the most that can be earned",
    "battle": "1, the whole army; no published table of kills found",
    "tag_gridworld": _WARPDRIVE,
    "tag_continuous": _WARPDRIVE,
    "explorer": _MEGASTEP,
    "waypoint": _MEGASTEP,
    "point_goal": _MEGASTEP,
    "deathmatch": _MEGASTEP,
    "connect_four": "no published figure found against random moves",
    "tic_tac_toe": "0 % lost, which perfect play achieves",
    "epidemic": "the best constant strictness, measured",
    "skirmish": (
        "the script in place of the allies, measured above; 0.95 and 0.90 of the fights, won by Mava's "
        "recurrent MAPPO and IPPO after 1 million env steps, read by eye from its curves; the "
        "[scoreboard](scoreboard.md#skirmish) has all maps of SMAX"
    ),
    "foraging": "0.5 a player, the most that two can earn on average; no published table found for this field",
    "warehouse": "no published figure found for this floor; published ones are of larger floors",
    "overcooked": (
        "380, a bound: the room's one pot cooks at most 19 soups in 400 steps; 194 to 268, the best responses to fixed "
        "partners of `LARG/jax-aht` on GitHub; the [scoreboard](scoreboard.md#overcooked) has five layouts"
    ),
    **dict.fromkeys(
        (
            "particles_adversary",
            "particles_pursuit",
            "particles_push",
            "particles_reference",
            "particles_speaker_listener",
            "particles_spread",
        ),
        _MADDPG,
    ),
    "minatar_asterix": _PGX.format("22 to 25"),
    "minatar_breakout": (
        f"{_PGX.format('50')}; 9.2 of a DQN with the settings of Young and Tian (arXiv:1903.03176) after 5 M frames, "
        "three seeds (`joash2003/rainbow-minatar` on GitHub)"
    ),
    "minatar_freeway": _PGX.format("63"),
    "minatar_seaquest": _PGX.format("54"),
    "minatar_space_invaders": _PGX.format("145"),
}
