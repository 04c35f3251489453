"""Trees as pages: a report to look at and edit, and pictures for notebooks."""
