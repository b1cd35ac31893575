"""Reads answers.

In memory: ``read`` takes files and tables (``tables``) and matrices (``matrices``), and returns ``answers.Answers``.
Partitioned, for Dask: ``sources`` opens them, ``repartition`` brings all answers to a task together, and
``partitions`` returns ``LazyAnswers``. ``names`` serves both.
"""
