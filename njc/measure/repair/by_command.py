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
from njc.measure.repair.annotate import annotate_code, remove_step_comments
from njc.measure.repair.command import BlockLines, CommandResult, run_test_command
from njc.measure.repair.loop import (
    Proposal,
    RefusedProposal,
    RepairBudget,
    Repaired,
    repair_code,
)
from njc.measure.repair.reply import read_rationale
from njc.project.config import Project
from njc.project.units import Unit
from njc.static.build import HoleRequest, choose_author, fill_holes
from njc.static.fit import StaticFile
from njc.static.generate import (
    REPAIR_SYSTEM_PROMPT,
    CodeCheck,
    extract_code,
    make_code_request,
    make_refusal_messages,
)
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockEntry, StaticLock, TokenCounts, hash_code
from njc.static.staleness import Locked, describe_hole_status, find_hole_statuses
from njc.static.write import format_finding_messages, write_static_build
from njrt.data.records import record, replace
from njrt.errors import ConfigurationError
from njrt.messages import Message, Request, UserMessage
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
    hint = ""
    if hole.helper not in evaluation.code:
        form = format_question_form(hole)
        hint = f" If it takes understanding of a text, ask for what the text says: {form}."
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
the test.{hint} Write the rationale first, then the code, corrected and without these comments: \
only the statements for the marked place."""


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
            status = find_hole_statuses([hole], program.lock)[hole.name]
            if not isinstance(status, Locked):
                trouble = f"{describe_hole_status(status)}; `njc build` writes it"
                yield CommandRepairResult(hole, trouble=trouble)
                continue
            request.notify(f"testing {hole.name}")
            result = _repair_hole(program, file, hole, status.entry, request)
            yield result
            if result.after is not None and result.after.result.has_passed:
                return


@record
class HoleRepair:
    """The repair of a hole's code, as `repair_code` needs it."""

    program: TestedProgram
    file: StaticFile
    hole: Hole
    entry: LockEntry
    check: CodeCheck

    def evaluate(self, code: str) -> CommandEvaluation:
        """Run the command on code, twice if it passes: a test may depend on time or chance."""
        proposed = replace(self.entry, code=code, digest=hash_code(code))
        found = self.program.test_entry(self.file, self.hole, proposed)
        if found.result.has_passed and code != self.entry.code:
            return self.program.test_entry(self.file, self.hole, proposed)
        return found

    def make_request(
        self,
        code: str,
        evaluation: CommandEvaluation,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Return a request that describes the failure and the proposal refused since, if any."""
        refusal: tuple[Message, ...] = ()
        if refused and refused.code:
            refusal = make_refusal_messages(refused.code, refused.refusals)
        problem = make_command_prompt(self.hole, evaluation)
        messages: tuple[Message, ...] = (UserMessage(f"{self.hole.shown}\n\n{problem}"), *refusal)
        request = make_code_request(self.hole, messages, temperature, turn)
        return replace(request, system=REPAIR_SYSTEM_PROMPT)

    def read_reply(self, text: str) -> Proposal:
        return Proposal(remove_step_comments(extract_code(text)), read_rationale(text))


def _repair_hole(
    program: TestedProgram, file: StaticFile, hole: Hole, entry: LockEntry, request: HoleRequest
) -> CommandRepairResult:
    author = choose_author(file, hole)
    budget = RepairBudget(request.attempts, temperature=author.temperature)
    repair = HoleRepair(program, file, hole, entry, file.make_code_check(hole))
    repaired = answer_all(repair_code(repair, entry.code, budget), author.model.ask)
    if repaired.attempts and repaired.evaluation.result.has_passed:
        request.keep([make_repaired_entry(entry, repaired, author.model.name, request.today)])
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
    ended = f"was ended by {result}" if result.was_killed else "failed without running its code"
    return f"the command {ended}" + (f"; its output ends with: {last}" if last else "")


def make_repaired_entry(
    began: LockEntry, repaired: Repaired[CommandEvaluation], writer: str, date: str
) -> LockEntry:
    """Return repaired code's entry, with all costs."""
    cost, code = repaired.cost, repaired.code
    return replace(
        began,
        attempts=began.attempts + len(repaired.attempts),
        tokens=TokenCounts(began.tokens.input + cost.input, began.tokens.output + cost.output),
        usd=None if began.usd is None and cost.usd is None else (began.usd or 0) + (cost.usd or 0),
        code=code,
        digest=hash_code(code),
        model=writer,
        date=date,
        rationale=f"{repaired.rationale}\n" if repaired.rationale else "",
    )
