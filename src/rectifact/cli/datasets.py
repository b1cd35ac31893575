"""rectifact datasets: the data sets with a known truth."""

from rich.table import Table
from rich.text import Text

from rectifact.cli.terminal import say, show
from rectifact.datasets import catalogue, data_folders


def datasets() -> None:
    """List the data sets with known ground truth, and the folders searched for their files."""
    table = Table("set", "file", "found")
    for row in catalogue().itertuples(index=False):
        table.add_row(*map(Text, row))  # a folder may have brackets in its name
    show(table)
    say("Files are looked for under " + " and then under ".join(map(str, data_folders())) + ".")
