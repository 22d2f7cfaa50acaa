"""A session as one markdown file that a reviewer can read alone, with pictures."""

from dea.report.write import FIRST_LINE, render_report, write_report

__all__ = ["FIRST_LINE", "render_report", "write_report"]
