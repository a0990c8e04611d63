"""Gymnasium's CartPole-v1 in NumPy and float64, for many carts at once."""

from __future__ import annotations

import numpy as np

POSITION_LIMIT, ANGLE_LIMIT = 2.4, 12 * 2 * np.pi / 360


Number = np.ndarray | float


def step(
    state: np.ndarray,
    actions: np.ndarray,
    gravity: Number = 9.8,
    cart_mass: Number = 1.0,
    pole_mass: Number = 0.1,
    pole_length: Number = 1.0,
    force: Number = 10.0,
) -> tuple[np.ndarray, np.ndarray]:
    """One Euler step of 0.02 s.

    Args:
        state: (envs, 4) cart position and velocity, pole angle and velocity.
        actions: (envs,) 0 pushes left, 1 right.
        gravity: (envs,) m/s^2, or one for all; and so the others.
        cart_mass: kg.
        pole_mass: kg.
        pole_length: m.
        force: N, of a push.

    Returns:
        The next state, (envs, 4) float64, and whether the pole fell or the cart left, (envs,) bool.
    """
    half_length, seconds = pole_length / 2.0, 0.02
    total_mass = cart_mass + pole_mass
    _, speed, angle, spin = state.astype(np.float64).T
    pushed = (np.where(actions == 1, force, -force) + pole_mass * half_length * spin**2 * np.sin(angle)) / total_mass
    inertia = half_length * (4.0 / 3.0 - pole_mass * np.cos(angle) ** 2 / total_mass)
    spin_change = (gravity * np.sin(angle) - np.cos(angle) * pushed) / inertia
    speed_change = pushed - pole_mass * half_length * spin_change * np.cos(angle) / total_mass
    rates = np.stack([speed, speed_change, spin, spin_change], -1)
    after = state + seconds * rates
    fallen = (np.abs(after[:, 0]) > POSITION_LIMIT) | (np.abs(after[:, 2]) > ANGLE_LIMIT)
    return after, fallen


def near_threshold(after: np.ndarray, margin: float = 1e-5) -> np.ndarray:
    """(envs,) bool: so close to a limit that float32 may end on its other side."""
    return (np.abs(np.abs(after[:, 0]) - POSITION_LIMIT) < margin) | (
        np.abs(np.abs(after[:, 2]) - ANGLE_LIMIT) < margin
    )
