"""The papers' tables and the peers, measured in one run."""
