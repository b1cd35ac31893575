"""A trial of the whole tool on damaged files, degenerate data, made-up models, kills and interrupts.

``make trial`` runs the long form and writes the table of ``docs/reliability.rst``; the tests run a short one. Every
case is made from a seed that a failure prints.
"""
