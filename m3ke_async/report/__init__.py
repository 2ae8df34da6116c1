"""One file for each form of a report."""
