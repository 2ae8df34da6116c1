"""Many evaluations as one: cells from a file, run side by side, kept in one results folder."""
