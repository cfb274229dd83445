"""`spsbench report`: compare the methods and their costs, from run results; and the other reports.

spsbench report results.jsonl                        as text
spsbench report results.jsonl graph.jsonl --out DIR  text and Markdown: DIR/report.md
spsbench report results.jsonl --out DIR --check      exit code 1 if DIR differs
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from njrt.errors import require_packages
from spsbench import flags


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=flags.EXISTING_FILE)
@click.option("--out", type=flags.FOLDER, help="Folder of the report.")
@click.option("--check", is_flag=True, help="Write nothing; list files that differ.")
def command(results: tuple[Path, ...], out: Path | None, check: bool) -> None:
    """Report RESULTS beside the paper's tables.

    Prints text; --out writes text and Markdown.

    RESULTS are files of `spsbench run` and `spsbench graph`. --out needs the extra `bench`.
    """
    from spsbench.report.files import build_report_files, find_file_differences

    if check and out is None:
        raise click.UsageError("--check compares with a report: name its folder by --out")
    if out is not None:
        require_packages("--out", "njpy[bench]", "jinja2", otherwise="leave out --out")
    files = build_report_files(results, out)
    if out is None:
        click.echo(files["report.txt"], nl=False)
    elif not check:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"{', '.join(files)} are written to {out}")
    elif found := find_file_differences(files, out):
        raise click.ClickException("the report differs from the results\n" + "\n".join(found))


def make_report_command(name: str, module: str) -> click.Command:
    """Return the command that reports on results files with the `REPORT` of a module."""

    def command(results: tuple[Path, ...], out: Path | None, check: bool) -> None:
        from spsbench.report.results_report import report_files

        if check and out is None:
            raise click.UsageError("--check compares with a report: name it by --out")
        report_files(import_module(module).REPORT, results, out, check)

    about = "Write nothing; exit code 1 where --out differs."
    options = (
        click.argument("results", nargs=-1, required=True, type=flags.EXISTING_FILE),
        click.option("--out", type=flags.FILE, help="Write Markdown into this file."),
        click.option("--check", is_flag=True, help=about),
    )
    for option in reversed(options):
        command = option(command)
    kind = name.removesuffix("-report")
    return click.command(name, help=f"Report the results of `spsbench {kind}`.")(command)
