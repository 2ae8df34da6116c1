"""One file for each wire protocol."""
