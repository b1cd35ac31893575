"""How many parts, dimensions or communities, and how far each of them can be trusted."""

from rectifact.selection.choice import Selection, select
from rectifact.selection.trust import Assessment, assess

__all__ = ["Assessment", "Selection", "assess", "select"]
