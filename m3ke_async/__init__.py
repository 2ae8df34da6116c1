"""Run the M3KE benchmark on chat models over HTTP: paced, resumable, auditable."""
