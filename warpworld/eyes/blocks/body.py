"""Bodies of an environment where they start, and whether they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.errors import DeclarationError

MOST_BODIES = 64  # of an env
NOTHING = -1

Wall = tuple[float, float, float, float]  # x, y, half the width, half the height, metres


@dataclass(frozen=True)
class Body:
    """One body where it starts, a disc or a box.

    Attributes:
        position: x and y of its middle, metres.
        radius: of a disc, metres; 0 for a box.
        half: half a box's width and height, metres; 0 and 0 for a disc.
        mass: kilograms; infinite for a body that nothing moves.
        drag: 1 / seconds: a force moves it at most at force / (mass * drag).
        holds: number of the body that it holds at the start, -1 for none.
    """

    position: tuple[float, float]
    radius: float = 0.0
    half: tuple[float, float] = (0.0, 0.0)
    mass: float = 1.0
    drag: float = 10.0
    holds: int = NOTHING

    @property
    def reach(self) -> tuple[float, float]:
        """Metres from its middle to its sides, along x and y."""
        return (self.radius, self.radius) if self.radius else self.half


def check_bodies(where: str, bodies: Sequence[Body], agents: int) -> None:
    """Refuse bodies that are too many or too few, without a size or a mass, or joined to nothing.

    Raises:
        DeclarationError: with the number of the body.
    """
    if not agents <= len(bodies) <= MOST_BODIES:
        raise DeclarationError(
            f"{where}: {len(bodies)} bodies for {agents} agents, expected {agents} to {MOST_BODIES}, those of agents "
            "first"
        )
    for i, body in enumerate(bodies):
        _check_body(f"{where}: body {i}", body)
        _check_joint(f"{where}: body {i}", i, bodies)


def _check_body(where: str, body: Body) -> None:
    is_disc, is_box = body.radius > 0, min(body.half) > 0
    if is_disc == is_box or body.radius < 0 or min(body.half) < 0:
        raise DeclarationError(
            f"{where} has radius={body.radius} and half={body.half}, expected a radius above 0 of a disc, or both half "
            "sizes above 0 of a box"
        )
    if not body.mass > 0 or not body.drag >= 0:
        raise DeclarationError(
            f"{where} has mass={body.mass} and drag={body.drag}, expected a mass above 0 and a drag of at least 0"
        )


def _check_joint(where: str, number: int, bodies: Sequence[Body]) -> None:
    holds = bodies[number].holds
    if holds == NOTHING:
        return
    is_other = 0 <= holds < len(bodies) and holds != number
    if not is_other or [body.holds for body in bodies].count(holds) > 1:
        raise DeclarationError(
            f"{where} has holds={holds}, expected -1 for none or the number of another body, 0 to {len(bodies) - 1}, "
            "that no other one holds"
        )


def check_places(
    where: str, bodies: Sequence[Body], walls: Sequence[Wall], size: tuple[float, float], spread: float
) -> None:
    """Refuse bodies that overlap at the start, or may where each is up to ``spread`` metres off its place.

    Discs are taken for the boxes around them.

    Raises:
        DeclarationError: with the numbers of both bodies, or of the wall.
    """
    placed = [(body.position, body.reach) for body in bodies]
    still = [((x, y), (half_x, half_y)) for x, y, half_x, half_y in walls]
    for i, (at, half) in enumerate(placed):
        here = f"{where}: body {i} at ({at[0]:g}, {at[1]:g})"
        if any(min(at[axis], size[axis] - at[axis]) - half[axis] <= spread for axis in (0, 1)):
            raise DeclarationError(
                f"{here} does not fit into the arena of {size[0]:g} x {size[1]:g} m with spread={spread:g}"
            )
        others = [(f"body {j}", other, 2 * spread) for j, other in enumerate(placed[:i])]
        others += [(f"wall {j}", wall, spread) for j, wall in enumerate(still)]
        for name, (middle, other_half), room in others:
            if all(abs(at[axis] - middle[axis]) <= half[axis] + other_half[axis] + room for axis in (0, 1)):
                raise DeclarationError(
                    f"{here} may overlap {name} at the start with spread={spread:g}; move one of them"
                )
