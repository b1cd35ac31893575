"""``python -m rectifact.cli``."""

from rectifact.cli import main

main()
