"""Repairing locked code using the user's test command: `njc static --repair --test "pytest -q"`.

The command is run on a build with the locked code. If it fails and a block's code ran, the code is
repaired: the model is sent the end of the command's output and the code's last run, and its new
code is tried in a separate build. Code is locked, with its rationale, if the command then exits
with 0 twice. Blocks are tried one by one. Not detected: mistakes that need changes in two blocks.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from njc.measure.built_imports.account import describe_build
from njc.measure.repair.annotate import annotate_code
from njc.measure.repair.command import BlockLines, CommandResult, run_test_command
from njc.measure.repair.hole_repair import (
    RATIONALE_INSTRUCTION,
    HoleRepair,
    find_locked_entry,
    make_hint,
    make_repaired_entry,
)
from njc.measure.repair.loop import RepairBudget, repair_code
from njc.project.config import Project
from njc.project.units import Unit
from njc.static.build import HoleRequest, choose_author, fill_holes
from njc.static.fit import StaticFile
from njc.static.holes import Hole
from njc.static.lock import LockEntry, StaticLock, hash_code
from njc.static.write import format_finding_messages, write_static_build
from njrt.data.records import record, replace
from njrt.errors import ConfigurationError
from njrt.models.model import answer_all


@record
class CommandEvaluation:
    """The result of the command on a build, including the run of the block's code."""

    result: CommandResult
    code: str
    """The code in the compiled file."""
    first_line: int

    @property
    def rank(self) -> tuple[int, ...]:
        return (int(self.result.has_passed),)

    @property
    def can_improve(self) -> bool:
        """Whether the command failed after it ran the code, and was not killed."""
        is_known = not self.result.has_passed and not self.result.was_killed
        return is_known and bool(self.result.trace.reached)

    def __str__(self) -> str:
        if self.result.has_passed:
            return "passes"
        if self.result.was_killed:
            return str(self.result)
        ran = "" if self.result.trace.reached else ", and did not run the code"
        return f"{self.result}{ran}"


@record
class CommandRepairResult:
    """The result for one hole; `trouble` is the reason if it was not tried."""

    hole: Hole
    before: CommandEvaluation | None = None
    after: CommandEvaluation | None = None
    replies: int = 0
    rationale: str = ""
    trouble: str = ""


def make_command_prompt(hole: Hole, evaluation: CommandEvaluation) -> str:
    """Describe a command's failure, with the code's steps as comments in the code."""
    trace = evaluation.result.trace
    return f"""\
There is code for this place already. The tests of the program fail with it:

```text
{evaluation.result.output}
```

When the code was run last, there was {trace.given or "no variable"}. The code did this; the \
comments are the values after each step:

```python
{annotate_code(evaluation.code, trace, evaluation.first_line)}
```

Find the mistake in the code, and correct it for all values: write no special case for those of \
the test.{make_hint(hole, evaluation.code)} {RATIONALE_INSTRUCTION}"""


@record
class TestedProgram:
    """A program with locked code, and the command that tests it."""

    files: tuple[StaticFile, ...]
    units: tuple[Unit, ...]
    project: Project
    lock: StaticLock
    words: tuple[str, ...]
    """The command; its exit code is 0 if the program is right."""
    seconds: float

    def test_entry(self, file: StaticFile, hole: Hole, entry: LockEntry) -> CommandEvaluation:
        """Run the command on this entry's build; raises ConfigurationError if it needs a model."""
        build = fill_holes(self.files, self.lock.with_entries([entry]), HoleRequest(locked=True))
        if build.findings:
            raise ConfigurationError(format_finding_messages(build.findings))
        compilation = build.compiled[file.unit]
        assert compilation.output is not None, "checked code compiles"
        text = compilation.output.decode(file.source.encoding)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder).resolve()
            project = replace(self.project, out=out)
            moved = {
                unit: replace(unit, output=out / Path(unit.path).with_suffix(".py"))
                for unit in self.units
            }
            units = tuple(moved.values())
            compiled = {moved[unit]: found for unit, found in build.compiled.items()}
            if errors := write_static_build(units, project, replace(build, compiled=compiled)):
                raise ConfigurationError(format_finding_messages(errors))
            output = moved[file.unit].output
            numbers = [
                number
                for number in range(1, text.count("\n") + 1)
                if compilation.line_map.find_source_line(number) == hole.block.line
            ]
            code, first, last = _cut_code(text, numbers)
            block = BlockLines(output, first, last)
            try:
                result = run_test_command(
                    self.words, out, describe_build(units), block, self.seconds
                )
            except OSError as error:
                raise ConfigurationError(
                    f"the command cannot be run: {error.strerror}: {self.words[0]}"
                ) from None
        return CommandEvaluation(result, code, first)


def _cut_code(text: str, numbers: Sequence[int]) -> tuple[str, int, int]:
    """Return a block's code in a compiled text, without scaffold, and its first and last line."""
    lines = text.split("\n")
    code = [number for number in numbers if not _SCAFFOLD.match(lines[number - 1])] or list(numbers)
    first, last = code[0], code[-1]
    return textwrap.dedent("\n".join(lines[first - 1 : last])), first, last


_SCAFFOLD = re.compile(r"\s*(?:#.*|\w+: [^=]+|\w+ = \w+\.a?llm_at\(.*|)$")
"""Lines not from a model: comments, bare annotations, the helper call to a model, blank lines."""


def repair_by_command(
    program: TestedProgram, holes: Sequence[Hole], request: HoleRequest
) -> Iterator[CommandRepairResult]:
    """Repair one hole after another until the command passes."""
    for file in program.files:
        for hole in (hole for hole in file.holes if hole in holes):
            entry, trouble = find_locked_entry(hole, program.lock)
            if entry is None:
                yield CommandRepairResult(hole, trouble=trouble)
                continue
            request.notify(f"testing {hole.name}")
            result = _repair_hole(program, file, hole, entry, request)
            yield result
            if result.after is not None and result.after.result.has_passed:
                return


def _repair_hole(
    program: TestedProgram, file: StaticFile, hole: Hole, entry: LockEntry, request: HoleRequest
) -> CommandRepairResult:
    def run(code: str) -> CommandEvaluation:
        if code == entry.code:
            return program.test_entry(file, hole, entry)
        proposed = replace(entry, code=code, digest=hash_code(code))
        found = program.test_entry(file, hole, proposed)
        # A test that depends on time or chance may pass with any code.
        return program.test_entry(file, hole, proposed) if found.result.has_passed else found

    author = choose_author(file, hole)
    budget = RepairBudget(request.attempts, temperature=author.temperature)
    repair = HoleRepair(hole, file.make_code_check(hole), run, make_command_prompt)
    repaired = answer_all(repair_code(repair, entry.code, budget), author.model.ask)
    if repaired.attempts and repaired.evaluation.result.has_passed:
        new = make_repaired_entry(entry, repaired, author.model.name, request.today)
        request.keep([new])
    first = repaired.first
    return CommandRepairResult(
        hole,
        first,
        repaired.evaluation,
        len(repaired.attempts),
        repaired.rationale,
        "" if first.can_improve or first.result.has_passed else describe_no_run(first.result),
    )


def describe_no_run(result: CommandResult) -> str:
    """Return why a block cannot be repaired if its code did not run."""
    last = result.output.rpartition("\n")[2].strip()[:200]
    ending = f"; its output ends with: {last}" if last else ""
    how = "failed without running its code"
    if result.was_killed:
        how = f"was ended by {result}, so that the result of the code is not known"
    return f"the command {how}{ending}"
