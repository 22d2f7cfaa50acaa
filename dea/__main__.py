"""`python -m dea` is `dea`."""

from dea.cli import main

main()
