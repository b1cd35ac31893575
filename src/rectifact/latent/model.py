"""The model behind the data: factors of Theta and the size of the noise."""

from dataclasses import dataclass
from typing import Any

from rectifact.core.arrays import Array, namespace

__all__ = ["LatentModel"]


@dataclass(frozen=True)
class LatentModel:
    """Factors of Theta: A (n_samples, rank) and B (rank, n_features), and the logarithm of sigma."""

    A: Array
    B: Array
    log_sigma: Any

    @property
    def parts(self) -> tuple[Array, Array, Any]:
        """A, B and log sigma, which is a number, or an array of one on a device."""
        return self.A, self.B, self.log_sigma

    def beyond(self, other: "LatentModel", beta: Any, floor: float) -> "LatentModel":
        """The point that lies as far ahead as ``beta`` times the way from ``other`` to here."""
        A, B, ahead = (mine + beta * (mine - theirs) for mine, theirs in zip(self.parts, other.parts, strict=True))
        return LatentModel(A, B, max(ahead, floor) if isinstance(ahead, float) else namespace(ahead).clip(ahead, floor))
