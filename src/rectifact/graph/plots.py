"""Charts of communities for notebooks."""

from typing import Any

from rectifact.core.plots import ConvergencePlot, plot


class GraphPlots(ConvergencePlot):
    """Charts of the report on a graph; each is a :class:`rectifact.report.Chart`."""

    def plot_network(self) -> Any:
        """Drawing of the graph, coloured by community.

        .. versionadded:: 0.2
        """
        return plot(self, "network")

    def plot_sizes(self) -> Any:
        """Chart of the sizes of the communities.

        .. versionadded:: 0.2
        """
        return plot(self, "sizes")

    def plot_memberships(self) -> Any:
        """Chart of the largest membership of each node.

        .. versionadded:: 0.2
        """
        return plot(self, "memberships")

    def plot_similarities(self) -> Any:
        """Picture of the similarities, ordered by community.

        .. versionadded:: 0.2
        """
        return plot(self, "similarities")
