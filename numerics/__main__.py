"""`python -m numerics`: the command `numerics`."""

from numerics.cli import main

main()
