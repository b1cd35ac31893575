"""The model behind the data: factors of Theta and the size of the noise."""

from dataclasses import dataclass

from rectifact.core.arrays import Array

__all__ = ["LatentModel"]


@dataclass(frozen=True)
class LatentModel:
    """Factors of Theta: A (n_samples, rank) and B (rank, n_features), and the logarithm of sigma."""

    A: Array
    B: Array
    log_sigma: float

    def beyond(self, other: "LatentModel", beta: float, floor: float) -> "LatentModel":
        """The point that lies as far ahead as ``beta`` times the way from ``other`` to here."""
        ahead = self.log_sigma + beta * (self.log_sigma - other.log_sigma)
        return LatentModel(self.A + beta * (self.A - other.A), self.B + beta * (self.B - other.B), max(ahead, floor))
