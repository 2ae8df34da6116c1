"""Real servers: `make test-servers`."""
