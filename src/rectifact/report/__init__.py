"""A fitted model as one self-contained HTML file that opens offline."""

from rectifact.report.blocks import Report
from rectifact.report.document import report_of, write_report
from rectifact.report.html import render
from rectifact.report.svg import Chart

__all__ = ["Chart", "Report", "render", "report_of", "write_report"]
