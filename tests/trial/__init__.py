"""A trial of the whole tool on damaged files, degenerate data and forged models.

``make trial`` runs the long form and writes its counts to ``trial.json``; ``make trial-short`` runs a part. Every case
is made from a seed that a failure prints.
"""
