"""What others report of the gallery's environments, each with its source: returns to compare learnt ones with."""

_GYMNASIUM = "Gymnasium 1.4.0's reward threshold"
_CURVES = "no published table found; Young and Tian (arXiv:1903.03176) and Pgx show curves"
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
        "the script in the place of the allies, measured above; no published table found, JaxMARL's paper "
        "(arXiv:2311.10090) shows curves"
    ),
    "foraging": "0.5 a player, the most that two can earn on average; no published table found for this field",
    "warehouse": "no published figure found for this floor; published ones are of larger floors",
    "overcooked": (
        "380, a bound: the room's one pot cooks at most 19 soups in 400 steps; no published table found for these "
        "rules, which start cooking with the third onion"
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
    "minatar_asterix": _CURVES,
    "minatar_breakout": (
        "9.2 of a DQN with the settings of Young and Tian (arXiv:1903.03176) after 5 M frames, three seeds "
        "(`joash2003/rainbow-minatar` on GitHub)"
    ),
    "minatar_freeway": _CURVES,
    "minatar_seaquest": _CURVES,
    "minatar_space_invaders": _CURVES,
}
