"""Population based training: members of a policy learn side by side, and the worst copy the best."""

from warpworld.trainers.population.exploration import Exploration
from warpworld.trainers.population.first_members import first_members
from warpworld.trainers.population.population import Population

__all__ = ["Exploration", "Population", "first_members"]
