"""The results of a comparison: the cost of each mode's build and runs, and how many runs passed.

ComparedRun(number=2, exit_code=0, seconds=1.2, blocks={"mail.njpy:12": Totals(calls=1, ...)})
...  ->  ModeSummary("static", ModeBuild(...), runs=(...))  ->  a table
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from njc.evaluation.pass_rates import PassRate
from njc.trace_lines import BeganLine, RepliedLine, TraceLine
from njrt.observability.accounts import Totals
from njrt.records import field, record


@record
class ModeBuild:
    """The cost of a build; `failure` is the reason if it failed, or else ""."""

    seconds: float
    tokens: int = 0
    """All tokens that were ever used to write the code, also by an earlier build."""
    failure: str = ""


@record
class ComparedRun:
    """A single run of the command, and what its blocks used, by place."""

    exit_code: int
    seconds: float
    blocks: Mapping[str, Totals] = field(default_factory=dict)

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0

    @property
    def usage(self) -> Totals:
        return sum(self.blocks.values(), Totals())


@record
class ModeSummary:
    """One mode: its build and its runs."""

    name: str
    build: ModeBuild
    runs: tuple[ComparedRun, ...]

    @property
    def passes(self) -> PassRate:
        """A single group of all runs, which are interchangeable."""
        return PassRate([(sum(run.has_passed for run in self.runs), len(self.runs))])

    @property
    def seconds(self) -> float:
        """The median run time; 0.0 if there are no runs."""
        return median(run.seconds for run in self.runs) if self.runs else 0.0

    @property
    def usage(self) -> Totals:
        """What all runs used together."""
        return sum((run.usage for run in self.runs), Totals())

    @property
    def tokens(self) -> int:
        """The tokens of a run on average."""
        return round(self.usage.tokens / (len(self.runs) or 1))


def sum_usage_by_block(trace: Iterable[TraceLine]) -> dict[str, Totals]:
    """Add up the model calls in a trace file's lines by block place."""
    places: dict[str, str] = {}
    blocks: defaultdict[str, Totals] = defaultdict(Totals)
    for line in trace:
        match line:
            case BeganLine(run=run, place=place):
                places[run] = place or "elsewhere"
            case RepliedLine(run=run, cost=cost, seconds=seconds):
                blocks[places.get(run, "elsewhere")] += Totals(
                    calls=1,
                    input_tokens=cost.input,
                    output_tokens=cost.output,
                    usd=cost.usd or 0.0,
                    unpriced=int(cost.usd is None and cost.input + cost.output > 0),
                    seconds=seconds,
                )
    return dict(blocks)
