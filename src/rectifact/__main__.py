"""``python -m rectifact``: the command line."""

from rectifact.cli import main

main()
