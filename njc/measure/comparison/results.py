"""The results of a comparison: the cost of each mode's build and runs, and how many tests passed.

ComparedRun(0, 1.2, Totals(calls=1, ...), {"test_mail::test_bill": True})
...  ->  ModeSummary("static", ModeBuild(...), runs=(...))  ->  a table
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

from njc.debug.trace_lines import RepliedLine, TraceLine
from njc.measure.pass_rates import PassRate
from njrt.data.records import field, record
from njrt.log.accounts import Totals


@record
class ModeBuild:
    """The cost of a build; `failure` is the reason if it failed, or else ""."""

    seconds: float
    tokens: int = 0
    """All tokens that were ever used to write the code, also by an earlier build."""
    failure: str = ""
    usd: float | None = None
    """What they cost; None if a price is unknown, or no code was written."""


@record
class ComparedRun:
    """A single run of the command, what its blocks used, and which tests passed."""

    exit_code: int
    seconds: float
    usage: Totals = Totals()
    tests: Mapping[str, bool] = field(default_factory=dict)
    """The tests of the command's report; empty if it wrote none."""

    @property
    def verdicts(self) -> Mapping[str, bool]:
        """The tests, or the command itself as the only one."""
        return self.tests or {"the command": self.exit_code == 0}


@record
class ModeSummary:
    """One mode: its build and its runs."""

    name: str
    build: ModeBuild
    runs: tuple[ComparedRun, ...]

    @property
    def tests(self) -> dict[str, tuple[int, int]]:
        """How often each test passed, and ran."""
        found: defaultdict[str, list[bool]] = defaultdict(list)
        for run in self.runs:
            for name, has_passed in run.verdicts.items():
                found[name].append(has_passed)
        return {name: (sum(passed), len(passed)) for name, passed in found.items()}

    @property
    def passes(self) -> PassRate:
        """The passed runs, a group for each test: runs of a test are not independent."""
        return PassRate([*self.tests.values()] or [(0, 0)])

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


def read_tests(report: Path) -> dict[str, bool]:
    """Return which tests of a JUnit report passed; skipped tests are left out.

    Empty if there is no report, or if it cannot be read.
    """
    try:
        cases = ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return {}
    passed: dict[str, bool] = {}
    for case in cases:
        ended = {part.tag for part in case}
        if "skipped" not in ended:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            # A test that fails and whose teardown fails too stands there twice.
            passed[name] = passed.get(name, True) and ended.isdisjoint(("failure", "error"))
    return passed


def count_differences(one: ModeSummary, other: ModeSummary) -> tuple[int, int]:
    """Return in how many tests that both ran the first passes more often, and less often."""
    ours, theirs = one.tests, other.tests
    pairs = [
        (ours[name][0] / ours[name][1], theirs[name][0] / theirs[name][1])
        for name in ours.keys() & theirs.keys()
    ]
    return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)


def sum_usage(trace: Iterable[TraceLine]) -> Totals:
    """Add up the model calls in a trace file's lines."""
    calls = [
        Totals(
            calls=1,
            input_tokens=line.cost.input,
            output_tokens=line.cost.output,
            usd=line.cost.usd or 0.0,
            unpriced=int(line.cost.usd is None and line.cost.input + line.cost.output > 0),
        )
        for line in trace
        if isinstance(line, RepliedLine)
    ]
    return sum(calls, Totals())
