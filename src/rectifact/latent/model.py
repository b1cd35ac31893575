"""The model behind the data: factors of Theta and the standard deviation of the noise."""

from dataclasses import dataclass
from typing import Any

from rectifact.core.arrays import Array, namespace


@dataclass(frozen=True)
class LatentModel:
    """Theta as a product of two factors, and the noise.

    Attributes
    ----------
    A : array of shape (n_samples, rank)
    B : array of shape (rank, n_features)
    log_sigma : float, or array of one number
        Logarithm of the standard deviation of the noise.
    """

    A: Array
    B: Array
    log_sigma: Any

    @property
    def sigma(self) -> Any:
        """Standard deviation of the noise, in the precision of the factors."""
        xp = namespace(self.B)
        return xp.astype(xp.exp(xp.asarray(self.log_sigma)), self.B.dtype)

    @property
    def parts(self) -> tuple[Array, Array, Any]:
        """A, B and log sigma."""
        return self.A, self.B, self.log_sigma

    def rescaled(self) -> "LatentModel":
        """The same model of binary data, in which only Theta / sigma matters, with a sigma of 1."""
        root = 1 / self.sigma**0.5
        return LatentModel(self.A * root, self.B * root, 0 * self.log_sigma)
