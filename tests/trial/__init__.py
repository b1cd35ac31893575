"""A trial of the whole tool: damaged files, degenerate data, forged models, kills, interrupts, payloads, forks.

``make trial`` runs the long form and writes its counts to ``docs/benchmarks/trial.json``, from which
``docs/scripts/reliability.py`` makes a page; ``make trial-short`` runs a part. Every case is made from a seed that a
failure prints.
"""
