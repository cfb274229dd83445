"""Estimate a batch's cost before it runs.

    estimate_batch(...)     BatchEstimate(rows=10000, sample=50, requests=50, tokens=812.0, usd=4.06, measured=None, ...)

The function is called for the first rows, up to their first requests, which are measured but not sent: later
requests are not counted. If some rows are done, their cost is a better estimate: the mean, with its 95 % interval
by the normal approximation.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from njc.batch.journal import RequestJournal
from njc.batch.rows import read_rows
from njc.batch.store import BatchStore
from njc.batch.suspension import RowReplies, UnmeasuredModelError, choose_measured_model, pass_row
from njc.target import TargetFunction
from njrt.errors import CostLimitError
from njrt.messages import Usage
from njrt.models.prices import compute_cost
from njrt.records import record

SAMPLED_ROWS = 50

BYTES_PER_TOKEN = 4
"""Bytes of English text per token, on average: https://platform.openai.com/tokenizer"""

ASSUMED_OUTPUT_TOKENS = 150
"""The output tokens of a reply, if no reply is known yet."""


@record
class BatchEstimate:
    """The estimated usage of the remaining rows.

    `requests` is the number of first requests in the `sample`, `tokens` their mean input; `usd` is the cost of the
    first requests of all remaining rows, None if no price is known. `measured` has the mean cost of a done row, and
    half its 95 % interval.
    """

    rows: int
    done: int
    sample: int
    requests: int
    tokens: float
    models: tuple[str, ...]
    usd: float | None
    measured: tuple[float, float] | None

    @property
    def left(self) -> int:
        return self.rows - self.done


def estimate_batch(
    target: TargetFunction, rows: Path, count: int | None, store: BatchStore, is_batch: bool
) -> BatchEstimate:
    """Measure the first requests of some rows; with `is_batch`, Batch API prices apply."""
    journal = RequestJournal(store)
    states = Counter(store.is_done(row) for row in read_rows(rows, count))
    total, done = states.total(), states[True]
    todo = (row for row in read_rows(rows, count) if not store.is_done(row))
    sizes: list[tuple[str, int]] = []
    sample = list(itertools.islice(todo, SAMPLED_ROWS))
    for row in sample:
        replies = RowReplies(journal.read_replies(row.index), sends=False)
        try:
            pass_row(target, row, replies, partial(choose_measured_model, replies=replies))
        except (KeyboardInterrupt, UnmeasuredModelError):
            raise
        except BaseException:
            continue  # the row will fail
        sizes += [(request.model, len(request.body.encode())) for request in replies.missing]
    costs = [price_request(model, size, is_batch) for model, size in sizes]
    known = [cost for cost in costs if cost is not None]
    return BatchEstimate(
        total,
        done,
        len(sample),
        len(sizes),
        sum(size for _, size in sizes) / BYTES_PER_TOKEN / (len(sizes) or 1),
        tuple(sorted({model for model, _ in sizes})),
        sum(known) / len(sample) * (total - done) if sample and len(known) == len(costs) else None,
        store.measure_rows(),
    )


def price_request(
    model: str, size: int, is_batch: bool, output: float = ASSUMED_OUTPUT_TOKENS
) -> float | None:
    """Return the price of a request of `size` bytes, in US dollars; None if it is unknown."""
    usage = Usage(round(size / BYTES_PER_TOKEN), round(output))
    return compute_cost(model.partition(" ")[0], usage, is_batch=is_batch)


def price_requests(sizes: Mapping[str, tuple[int, int]], output_tokens: float) -> float:
    """Return the price in USD of requests, given their number and bytes by model; raises CostLimitError."""
    usd = 0.0
    for model, (count, size) in sizes.items():
        name = model.partition(" ")[0]
        price = price_request(name, size, True, output_tokens * count)
        if price is None:
            raise CostLimitError(f"no price is known for {name}; run without --max-usd")
        usd += price
    return usd


def format_estimate(estimate: BatchEstimate) -> str:
    """Return the estimate as a few lines of text."""
    lines = [f"{estimate.rows:,} rows, {estimate.done:,} of them done"]
    if estimate.requests:
        lines.append(
            f"first requests of {estimate.sample:,} rows: {estimate.requests:,}, "
            f"about {estimate.tokens:,.0f} input tokens each, to {', '.join(estimate.models)}"
        )
    if estimate.usd is not None:
        lines.append(
            f"the first requests of the {estimate.left:,} rows that are left, with {ASSUMED_OUTPUT_TOKENS} "
            f"output tokens each: about ${estimate.usd:.2f}; what follows them is not counted"
        )
    elif estimate.requests:
        lines.append("no price is known for these models")
    if estimate.measured is not None:
        mean, half = estimate.measured
        interval = "" if math.isinf(half) else f" ± {half * estimate.left:.2f} (95 %)"
        lines.append(
            f"by the cost of the {estimate.done:,} rows that are done (${mean:.5f} each): "
            f"${mean * estimate.left:.2f}{interval} for the rest"
        )
    else:
        lines.append("for a better figure, run some rows first: --rows 20")
    return "\n".join(lines)
