"""Suites besides M3KE: what each of them is, and how their files are read."""
