"""`python -m spsbench` is `spsbench`."""

from spsbench.cli import main

main(prog_name="spsbench")
