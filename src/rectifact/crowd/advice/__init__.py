"""Advice from a fitted crowd model: on workers, what to label next, what is wrong, and how sure it is.

Estimators call these functions; only ``summary`` starts from a fitted estimator, for the command line and the report.
"""
