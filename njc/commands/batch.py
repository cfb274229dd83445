"""`njc batch mail.njpy:triage rows.csv --out results.jsonl`: call a function for every row."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

import njrt
from njc.batch.calls import (
    BatchResults,
    CallsGivenUp,
    Submit,
    open_dask,
    open_event_loop,
    open_threads,
    run_batch,
)
from njc.batch.rows import find_row_format, read_rows
from njc.commands.terminal.console import INTERRUPTED_EXIT_CODE, Console
from njc.commands.terminal.flags import COUNT, FILE, TARGET, refuse_options, with_console
from njc.commands.terminal.status_line import showing_progress
from njc.project.outputs import check_output
from njc.project.report import format_count
from njc.project.units import format_path
from njc.target import TargetFunction, get_target, make_absolute
from njrt.block.session.layered_model import find_recorder
from njrt.block.session.settings import get_settings
from njrt.errors import ConfigurationError
from njrt.log.budgets.ledger import format_usd


@dataclass(frozen=True)
class BatchFlags:
    """How the rows are called: at a time, where, and at which cost."""

    jobs: int
    executor: Literal["dask"] | None
    scheduler: str | None
    max_usd: float | None
    retry: bool


@click.command("batch")
@TARGET
@click.argument("rows", metavar="ROWS", type=FILE)
@click.option("-o", "--out", required=True, type=FILE, help="Append the results, as JSON Lines.")
@click.option(
    "--format", type=click.Choice(["csv", "jsonl"]), help="Format of ROWS (default: its suffix)."
)
@click.option("-j", "--jobs", type=COUNT, default=8, metavar="N", help="Rows at a time.")
@click.option("--executor", type=click.Choice(["dask"]), help="Call in processes of a cluster.")
@click.option("--scheduler", metavar="URL", help="Dask scheduler (default: a local cluster).")
@click.option("--max-usd", type=click.FloatRange(min=0), metavar="USD", help="Stop at this cost.")
@click.option("--retry", is_flag=True, help="Call again for rows that have failed.")
@with_console
def command(
    console: Console,
    target: str,
    rows: Path,
    out: Path,
    format: Literal["csv", "jsonl"] | None,
    **flags: Any,
) -> int:
    """Call FUNCTION for every row of the file ROWS.

    A row has the arguments of one call: the columns of a CSV file, or a JSON object a line. An
    interrupted batch is continued by the same command. Exit code 1: some rows have failed.
    """
    asked = BatchFlags(**flags)
    if asked.executor is None:
        refuse_options("needs --executor dask", "scheduler")
    rows, out = rows.absolute(), out.absolute()  # the program may change the working directory
    form = find_row_format(rows, format)
    loaded = get_target(make_absolute(target))
    check_output(out, rows, loaded.program)
    digests = {row.number: row.digest for row in read_rows(rows, form, loaded)}
    if not digests:
        raise ConfigurationError(f"{format_path(rows)} has no rows")
    results = BatchResults(out, digests)
    if asked.retry:
        results.forget_failed()
    try:
        with ExitStack() as stack:
            if asked.scheduler is None and find_recorder(get_settings(), os.environ) is None:
                stack.enter_context(njrt.using(record=f"new:{results.recording}"))
                os.environ["NJC_RECORD"] = f"new:{results.recording}"  # of a local cluster
            if asked.executor is None and asked.max_usd is not None:
                left = max(0.0, asked.max_usd - (results.usage.usd or 0.0))
                stack.enter_context(njrt.limit(usd=left, option="--max-{}"))
            submit = stack.enter_context(_open_executor(loaded, asked))
            update = stack.enter_context(showing_progress(console, len(digests)))

            def report(waiting: int) -> None:
                update(len(results.done), _describe(results, waiting))

            usd = asked.max_usd if asked.executor else None
            run_batch(read_rows(rows, form, loaded), results, submit, asked.jobs, usd, report)
        results.finish()
    except KeyboardInterrupt as interrupt:
        console.note("interrupted; the same command continues")
        if isinstance(interrupt, CallsGivenUp):
            os._exit(INTERRUPTED_EXIT_CODE)  # Python would wait for the threads
        return INTERRUPTED_EXIT_CODE
    finally:
        console.note(_describe(results) + f"; written: {format_path(out)}" * out.exists())
    return int(bool(results.failed))


def _open_executor(target: TargetFunction, asked: BatchFlags) -> AbstractContextManager[Submit]:
    if asked.executor is not None:
        return open_dask(target, asked.jobs, asked.scheduler)
    return open_event_loop(target) if target.is_async else open_threads(target, asked.jobs)


def _describe(results: BatchResults, waiting: int = 0) -> str:
    if waiting:
        return f"interrupted: waiting for {waiting:,} calls; Ctrl-C again gives them up"
    used = results.usage
    price = "price unknown" if used.usd is None else format_usd(used.usd)
    tokens = used.input + used.output
    rows, failed = format_count(len(results.done), "row"), len(results.failed)
    return f"{rows}, {failed:,} failed, {tokens:,} tokens, {price}"
