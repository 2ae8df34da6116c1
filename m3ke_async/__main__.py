"""`python -m m3ke_async`: the command, where no `m3ke` is on the path."""

from m3ke_async.cli import main

main()
