"""``python -m parentage``."""

from parentage.cli import main

main()
