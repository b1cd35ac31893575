"""What the report on an embedding says about hidden entries and recommendations."""

from rectifact.latent.filling import Comparison
from rectifact.models import SavedModel


def noted(saved: SavedModel) -> list[str]:
    """What the command that made the model knows about its values and recommendations, in sentences."""
    notes = saved.notes or {}
    kinds = {"log": "logarithms of 1 plus each value", "binary": "ones for positive values, and zeros"}
    values = kinds.get(notes.get("values", ""))
    return [
        *([f"It was fitted to {values}; errors are in these units."] if values else []),
        *([notes["recommendations"]] if notes.get("recommendations") else []),
    ]


def hidden_facts(
    hidden: tuple[Comparison, float] | None, compared: Comparison | None, k: int
) -> list[tuple[str, str, str]]:
    """Errors of hidden entries, by the model and by simpler means."""
    facts, same = [], "RMSE of the same entries"
    if compared is not None:
        (by, error), what = compared.plain, f"RMSE of {compared.n_hidden:,} known entries hidden from a second fit"
        facts += [("filled in", f"{compared.model:.4g}", what), ("by the mean", f"{compared.mean:.4g}", same)]
        facts += [(f"by {by.removeprefix('the ')}", f"{error:.4g}", same)]
    if hidden is not None:
        ours, svd = hidden
        facts += [("hidden entries", f"{ours.model:.4g}", "RMSE of entries that were hidden from a short fit")]
        facts += [("by truncated SVD", f"{svd:.4g}", f"{same}, at rank {k}, filled in again and again")]
        if compared is None:
            by, error = ours.plain
            facts += [(f"by {by.removeprefix('the ')}", f"{error:.4g}", same)]
    return facts


def beside(error: float, other: float) -> str:
    """How much smaller one error is than another, in words."""
    less = 1 - error / max(other, 1e-300)
    if abs(less) <= 0.005:
        return "the same as by"
    return f"{less:.0%} less than by" if less > 0 else f"{-less:.0%} more than by"
