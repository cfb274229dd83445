"""The command `spsbench`.

$ spsbench loc      lines of code of the natural programs and of the manual ones
"""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="njpy", prog_name="spsbench")
def main() -> None:
    """25 tasks, each as a program that shares its state with prompts and as one that does not."""


@main.command()
def loc() -> None:
    """Count the lines of code of all programs, beside the paper's numbers."""
    from spsbench.loc import lengths, table

    click.echo(table(lengths()))
