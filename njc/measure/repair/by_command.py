"""Repairing locked code using the user's test command: `njc static --repair --test "pytest -q"`.

The command is run on a build with the locked code. If it fails and a block's code ran, the code is
repaired: the model is sent the end of the command's output and the code's last run, and its new
code is tried in a separate build; if that fails, the model is sent the new failure. Code is locked,
with its rationale, if the command then exits with 0 twice. Blocks are tried one by one. Not
detected: mistakes that need changes in two blocks.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from njc.measure.repair.annotate import annotate_code, remove_step_comments
from njc.measure.repair.command import BlockLines, CommandResult, run_test_command
from njc.measure.repair.reply import read_rationale
from njc.project.config import Project
from njc.project.units import find_units
from njc.static.build import HoleRequest, choose_author, fill_holes
from njc.static.fit import StaticFile
from njc.static.generate import Generated, generate_code
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockEntry, StaticLock, TokenCounts, hash_code
from njc.static.staleness import Locked, describe_hole_status, find_hole_statuses
from njc.static.write import find_static_files, format_finding_messages, write_static_build
from njrt.data.records import record, replace
from njrt.errors import ConfigurationError
from njrt.models.model import answer_all


@record
class CommandRepairResult:
    """The result for one hole; `trouble` is the reason if it was not tried."""

    hole: Hole
    before: CommandResult | None = None
    after: CommandResult | None = None
    replies: int = 0
    rationale: str = ""
    trouble: str = ""


@record
class TestedBuild:
    """The result of the command on a build, with the block's code in the compiled file."""

    result: CommandResult
    code: str
    first_line: int

    def describe(self) -> str:
        """Return the output of the command, and the code with its steps as comments."""
        trace = self.result.trace
        return f"""\
```text
{self.result.output}
```

When the code was run last, there was {trace.given or "no variable"}. The code did this; the \
comments are the values after each step:

```python
{annotate_code(self.code, trace, self.first_line)}
```"""


def make_command_prompt(hole: Hole, tested: TestedBuild) -> str:
    """Describe a command's failure, with the code's steps as comments in the code."""
    hint = ""
    if hole.helper not in tested.code:
        form = format_question_form(hole)
        hint = f" If it takes understanding of a text, ask for what the text says: {form}."
    return f"""\
There is code for this place already. The tests of the program fail with it:

{tested.describe()}

Find the mistake in the code, and correct it for all values: write no special case for those of \
the test.{hint} Write the rationale first, then the code, corrected and without these comments: \
only the statements for the marked place."""


@record
class TestedProgram:
    """A program with locked code, and the command that tests it."""

    sources: tuple[Path, ...]
    project: Project
    lock: StaticLock
    words: tuple[str, ...]
    """The command; its exit code is 0 if the program is right."""
    seconds: float

    def test_code(self, hole: Hole, entry: LockEntry) -> TestedBuild:
        """Run the command on a build with this code; raises ConfigurationError if none is made."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder).resolve()
            project = replace(self.project, out=out)
            units = find_units(self.sources, project)
            files = find_static_files(units, project)
            lock = self.lock.with_entries([entry])
            build = fill_holes(files, lock, HoleRequest(locked=True))
            if errors := build.findings or write_static_build(units, project, build):
                raise ConfigurationError(format_finding_messages(errors))
            unit = next(file.unit for file in files if hole.name in [it.name for it in file.holes])
            found = build.compiled[unit].line_map
            text = unit.output.read_bytes().decode()
            numbers = [
                number
                for number in range(1, text.count("\n") + 1)
                if found.find_source_line(number) == hole.block.line
            ]
            code, first, last = _cut_code(text, numbers)
            block = BlockLines(unit.output, first, last)
            result = run_test_command(self.words, out, units, block, self.seconds)
        return TestedBuild(result, code, first)


def _cut_code(text: str, numbers: Sequence[int]) -> tuple[str, int, int]:
    """Return a block's code in a compiled text, without scaffold, and its first and last line."""
    lines = text.split("\n")
    code = [number for number in numbers if not _SCAFFOLD.match(lines[number - 1])] or list(numbers)
    first, last = code[0], code[-1]
    return textwrap.dedent("\n".join(lines[first - 1 : last])), first, last


_SCAFFOLD = re.compile(r"\s*(?:#.*|\w+: [^=]+|\w+ = \w+\.a?llm_at\(.*|)$")
"""Lines not from a model: comments, bare annotations, the helper call to a model, blank lines."""


def repair_by_command(
    program: TestedProgram, chosen: Sequence[tuple[StaticFile, Hole]], request: HoleRequest
) -> Iterator[CommandRepairResult]:
    """Repair one hole after another until the command passes."""
    for file, hole in chosen:
        status = find_hole_statuses([hole], program.lock)[hole.name]
        if not isinstance(status, Locked):
            trouble = f"{describe_hole_status(status)}; `njc build` writes it"
            yield CommandRepairResult(hole, trouble=trouble)
            continue
        request.notify(f"testing {hole.name}")
        result = _repair_hole(program, file, hole, status.entry, request)
        yield result
        if result.after is not None and result.after.has_passed:
            return


def _repair_hole(
    program: TestedProgram, file: StaticFile, hole: Hole, entry: LockEntry, request: HoleRequest
) -> CommandRepairResult:
    before = program.test_code(hole, entry)
    after = before.result
    if not after.can_be_repaired:
        trouble = "" if after.has_passed else describe_no_run(after)
        return CommandRepairResult(hole, after, after, trouble=trouble)
    find_refusals = file.make_code_check(hole)

    def check(code: str) -> tuple[str, ...]:
        """Run the command on code, twice if it passes: a test may depend on time or chance."""
        nonlocal after
        code = remove_step_comments(code)
        if refusals := find_refusals(code):
            return refusals
        proposed = replace(entry, code=code, digest=hash_code(code))
        for _ in range(2):
            tested = program.test_code(hole, proposed)
            after = tested.result
            if not after.has_passed:
                return (f"the tests fail with it, too:\n\n{tested.describe()}",)
        return ()

    author = choose_author(file, hole)
    failure = make_command_prompt(hole, before)
    conversation = generate_code(hole, check, request.attempts, author.temperature, failure)
    made = answer_all(conversation, author.model.ask)
    if made.refusals:
        return CommandRepairResult(hole, before.result, after, made.attempts)
    repaired = make_repaired_entry(entry, made, author.model.name, request.today)
    request.keep([repaired])
    return CommandRepairResult(hole, before.result, after, made.attempts, repaired.rationale)


def describe_no_run(result: CommandResult) -> str:
    """Return why a block cannot be repaired if its code did not run."""
    last = result.output.rpartition("\n")[2].strip()[:200]
    ended = f"was ended by {result}" if result.was_killed else "failed without running its code"
    return f"the command {ended}" + (f"; its output ends with: {last}" if last else "")


def make_repaired_entry(began: LockEntry, made: Generated, writer: str, date: str) -> LockEntry:
    """Return repaired code's entry, with all costs."""
    cost, code = made.cost, remove_step_comments(made.code)
    rationale = read_rationale(made.reply)
    return replace(
        began,
        attempts=began.attempts + made.attempts,
        tokens=TokenCounts(began.tokens.input + cost.input, began.tokens.output + cost.output),
        usd=None if began.usd is None and cost.usd is None else (began.usd or 0) + (cost.usd or 0),
        code=code,
        digest=hash_code(code),
        model=writer,
        date=date,
        rationale=f"{rationale}\n" if rationale else "",
    )
