"""Runs `spsbench` as `python -m spsbench`."""

from spsbench.cli import main

main(prog_name="spsbench")
