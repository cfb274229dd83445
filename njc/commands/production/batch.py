"""`njc batch mail.njpy:triage rows.jsonl --out results.jsonl`: call a natural function for every row in a file."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import click

from njc.batch.estimate import estimate_batch, format_estimate
from njc.batch.executors import ExecutorKind, count_jobs, open_executor
from njc.batch.journal import RequestJournal
from njc.batch.local import CallsGivenUp, interrupted_by_sigterm, run_local
from njc.batch.rows import BUDGET_OPTION, RowUsage, check_rows, describe_failed_rows, read_rows
from njc.batch.store import BatchCounts, BatchStore, discard_batch, note_program, open_batch_store
from njc.batch.waves import WaveProgress, Waves, make_vendor
from njc.commands.terminal.console import INTERRUPTED_EXIT_CODE, Console, paint_progress
from njc.commands.terminal.flags import COUNT, FILE, TARGET, refuse_options, with_console
from njc.commands.terminal.status_line import is_status_shown
from njc.project.outputs import check_output
from njc.project.units import format_path
from njc.target import get_target, make_absolute
from njrt.errors import ConfigurationError, CostLimitError
from njrt.production.budgets.ledger import format_usd
from njrt.session.limits import limit

_EXECUTORS = click.Choice(["async", "threads", "processes", "dask", "ray"])


@click.command("batch")
@TARGET
@click.argument("rows", metavar="ROWS", type=FILE)
@click.option(
    "-o", "--out", required=True, type=FILE, help="Write the results to FILE, as JSON Lines."
)
@click.option("--executor", type=_EXECUTORS, help="Where calls run (default: async or threads).")
@click.option("--address", metavar="URL", help="Dask or Ray cluster (default: a local one).")
@click.option("-j", "--jobs", type=COUNT, metavar="N", help="Rows at a time.")
@click.option(
    "--vendor-batch",
    type=click.Choice(["openai", "anthropic"]),
    help="Send model calls through a Batch API.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="Seconds between questions (default: 30).",
)
@click.option("--estimate", is_flag=True, help="Only estimate the cost.")
@click.option(
    "--max-usd", type=click.FloatRange(min=0.0), metavar="USD", help="Stop before it costs more."
)
@click.option("--rows", "count", type=COUNT, metavar="N", help="Only the first N rows.")
@click.option(
    "--order",
    type=click.Choice(["rows", "done"]),
    default="rows",
    help="Order of the results (default: rows).",
)
@click.option("--retry", is_flag=True, help="Call again for rows that have failed.")
@click.option("--fresh", is_flag=True, help="Discard the results of an earlier run.")
@with_console
def command(
    console: Console,
    target: str,
    rows: Path,
    out: Path,
    executor: ExecutorKind | None,
    address: str | None,
    jobs: int | None,
    vendor_batch: str | None,
    poll: float | None,
    estimate: bool,
    max_usd: float | None,
    count: int | None,
    order: str,
    retry: bool,
    fresh: bool,
) -> int:
    """Call FUNCTION for every row of the file ROWS.

    The result of each row is a line.

    A row is a JSON object with the arguments of one call. An interrupted batch is continued by the same command.
    Exit code 1: some rows have failed.
    """
    if vendor_batch is None:
        refuse_options("needs --vendor-batch", "poll")
    else:
        refuse_options("and --vendor-batch exclude each other", "executor", "address", "jobs")
    if executor not in ("dask", "ray"):
        refuse_options("needs --executor dask or ray", "address")
    check_rows(rows)
    rows, out = rows.absolute(), out.absolute()  # the program may change the working directory
    loaded = get_target(make_absolute(target))
    out = _check_out(out, rows, loaded.program)
    kind = executor or ("async" if loaded.is_async else "threads")
    if kind == "async" and not loaded.is_async:
        raise ConfigurationError(f"`{target}` is not async; use --executor threads")
    folder = out.with_name(f"{out.name}.batch")
    if fresh and not estimate and (sent := discard_batch(folder)):
        console.note(f"given up: {sent:,} batches that {vendor_batch or 'the vendor'} works on")
    price = partial(estimate_batch, loaded, rows, count, is_batch=vendor_batch is not None)
    if estimate:
        with tempfile.TemporaryDirectory() as empty:
            place = Path(empty) if fresh or not folder.exists() else folder
            with open_batch_store(place) as store:
                store.match_rows(read_rows(rows))
                console.result(format_estimate(price(store=store)))
        return 0
    is_new = not folder.exists()
    with ExitStack() as refusal, open_batch_store(folder) as store:
        if is_new:
            refusal.callback(discard_batch, folder)
        store.match_rows(read_rows(rows))
        if out.exists() and not fresh and store.get_fact("target") is None:
            raise ConfigurationError(
                f"{format_path(out)} exists, but {folder.name} has no batch that could continue it; "
                "--fresh overwrites it"
            )
        note_program(store, loaded, os.environ, is_retried=retry)
        if changed := store.count_changed_rows():
            console.note(f"calling again for {changed:,} rows with changed text")
        if retry and (again := store.retry_failed()):
            console.note(f"calling again for {again:,} rows that have failed")
        if max_usd is not None and (first := price(store=store).usd or 0.0) > max_usd:
            raise CostLimitError(
                f"the first requests alone would cost about {format_usd(first)}, more than --max-usd {max_usd:g}; "
                "nothing was sent. `--estimate` shows the details"
            )
        is_given_up = is_refused = False
        try:
            with (
                interrupted_by_sigterm(),
                closing(ProgressPainter(console, store, count)) as painter,
            ):
                if vendor_batch:
                    waves = Waves(
                        loaded, rows, count, store, vendor_batch, make_vendor(vendor_batch),
                        painter.show_wave, 30.0 if poll is None else poll, max_usd, retry,
                    )  # fmt: skip
                    waves.run()
                else:
                    spent = store.read_counts().usage.usd
                    left = None if max_usd is None else max(0.0, max_usd - spent)
                    # A cluster runs as many calls as it gets, so `--jobs` is their total number.
                    most_calls = jobs if jobs and address else 2 * count_jobs(kind, jobs)
                    # This process's threads count their usage together.
                    with (
                        limit(usd=left, option=BUDGET_OPTION),
                        open_executor(kind, loaded.name, jobs, address) as submit,
                    ):
                        show = painter.show_counts, painter.show_interrupt
                        run_local(rows, count, store, submit, most_calls, max_usd, *show)
        except KeyboardInterrupt as interrupt:
            is_given_up = isinstance(interrupt, CallsGivenUp)
            console.note("interrupted; the same command continues")
            return INTERRUPTED_EXIT_CODE
        except ConfigurationError:  # such as no model
            is_refused = not (store.count_known_rows() or store.read_counts().usage.calls)
            raise
        finally:
            if not is_refused:
                refusal.pop_all()
                store.export(out, order == "rows")
                console.note(_summarize(store, out))
                for reason in describe_failed_rows(store.iterate_failed()):
                    console.note(reason)
            if is_given_up:
                os._exit(INTERRUPTED_EXIT_CODE)  # Python would wait for the threads
        return 1 if store.read_counts().failed else 0


def _check_out(out: Path, *inputs: Path) -> Path:
    """Return the result file that `out` names; raises ConfigurationError if results cannot replace it."""
    if out.exists() and not out.is_file():
        raise ConfigurationError(
            f"{format_path(out)} is not a regular file; write to a file, beside which the state of the batch can be"
        )
    file = out.resolve() if out.is_symlink() else out
    check_output(file, *inputs)
    return file


def _summarize(store: BatchStore, out: Path) -> str:
    counts = store.read_counts()
    used = counts.usage
    batches, waves, requests = RequestJournal(store).count_batches()
    sent = f", {requests:,} requests in {batches:,} batches, {waves:,} waves" if batches else ""
    return (
        f"{counts.done:,} rows done, {counts.failed:,} of them failed; {used.calls:,} model calls, "
        f"{used.input + used.output:,} tokens, {_format_cost(used)}{sent}; written: {format_path(out)}"
    )


def _format_cost(used: RowUsage) -> str:
    return "price unknown" if used.input + used.output and not used.usd else format_usd(used.usd)


class ProgressPainter:
    """A terminal line: the progress, the cost, and the time left (state: whether it is shown)."""

    def __init__(self, console: Console, store: BatchStore, count: int | None) -> None:
        self._console = console
        self._is_enabled = is_status_shown(console)
        rows = store.count_rows()
        self._total = rows if count is None else min(rows, count)
        self._began_done = store.read_counts().done
        self._began = time.monotonic()
        self._wave = (0, time.monotonic())

    def close(self) -> None:
        """Remove the line."""
        self._paint("")

    def show_counts(self, counts: BatchCounts) -> None:
        done = counts.done - self._began_done
        left = format_time_left(self._total - counts.done, done, time.monotonic() - self._began)
        failed = f"  {counts.failed:,} failed" if counts.failed else ""
        cost = _format_cost(counts.usage)
        self._paint(f"{counts.done:,}/{self._total:,} rows{failed}  {cost}{left}")

    def show_wave(self, progress: WaveProgress) -> None:
        if self._wave[0] != progress.wave:
            self._wave = (progress.wave, time.monotonic())
        seconds = time.monotonic() - self._wave[1]
        left = progress.requests - progress.requests_done
        self._paint(
            f"wave {progress.wave}: {progress.requests_done:,}/{progress.requests:,} requests  "
            f"{progress.rows_done:,}/{self._total:,} rows  ${progress.usd:.4f}"
            f"{format_time_left(left, progress.requests_done, seconds)}"
        )

    def show_interrupt(self, calls: int) -> None:
        """Report how many calls to wait for after Ctrl-C."""
        self.close()
        if calls:
            self._console.note(
                f"waiting for {calls:,} calls that are under way; Ctrl-C again gives them up"
            )

    def _paint(self, line: str) -> None:
        if self._is_enabled:
            paint_progress(line)


def format_time_left(left: int, done: int, seconds: float) -> str:
    """Return the time left at the pace so far, such as `  about 14 min left`; empty at the start."""
    if done <= 0 or left <= 0:
        return ""
    rest = left * seconds / done
    if rest < 60:
        return f"  about {rest:.0f} s left"
    shown = f"{rest / 60:.0f} min" if rest < 5400 else f"{rest / 3600:.1f} h"
    return f"  about {shown} left"
