"""A fitted model as one self-contained HTML file that opens offline."""

from rectifact.report.blocks import Report
from rectifact.report.document import report_of
from rectifact.report.html import render, write_report

__all__ = ["Report", "render", "report_of", "write_report"]
