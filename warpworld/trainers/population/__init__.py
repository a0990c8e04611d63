"""Population based training: members of a policy learn side by side, and the worst copy the best."""

from warpworld.trainers.population.exploration import Exploration
from warpworld.trainers.population.population import Population
from warpworld.trainers.population.starting import first_members

__all__ = ["Exploration", "Population", "first_members"]
