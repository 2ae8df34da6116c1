"""Model servers on this machine: how large, by which command, started, watched and stopped."""
