"""The commands that report on results files, as text or into a Markdown file.

spsbench report results.jsonl                               prints the report
spsbench report results.jsonl --out report.md   writes it
spsbench report results.jsonl --out report.md --check       exit code 1 if the file differs
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from spsbench import flags


def make_report_command(name: str, module: str, about: str) -> click.Command:
    """Return the command that reports on results files with the `REPORT` of a module."""

    @click.command(name, help=about)
    @click.argument("results", nargs=-1, required=True, type=flags.EXISTING_FILE)
    @click.option("--out", type=flags.FILE, help="Write Markdown into this file.")
    @click.option("--check", is_flag=True, help="Write nothing; exit code 1 where --out differs.")
    def command(results: tuple[Path, ...], out: Path | None, check: bool) -> None:
        from spsbench.report.document import report_files

        if check and out is None:
            raise click.UsageError("--check compares with a report: name it by --out")
        report_files(import_module(module).REPORT, results, out, check)

    return command


command = make_report_command(
    "report",
    "spsbench.report.tables",
    "Report the methods, beside the paper.\n\nRESULTS are files of `spsbench run`.",
)
