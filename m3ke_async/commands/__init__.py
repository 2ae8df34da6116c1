"""One file for each group of commands: parsing and printing, no logic."""
