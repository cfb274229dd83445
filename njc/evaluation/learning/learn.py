"""Correcting a block's code using recorded runs: examples, prompts, and parsing of replies.

    traces/shop.jsonl ─> [Example] ─> ExampleSet(shown=(...), held_out=(...), unusable=("`log` is a file", ...))

Runs with equal inputs count once, with the most frequent outcome, because a live model may be wrong. Of four or more
examples, every third is held out: it is scored, but not shown to the model. Code must pass all checks before it is
run on the examples. Each prompt shows a different failure, written into the code.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic

from njc.evaluation.execution_trace import ExecutionTrace
from njc.evaluation.repair.annotate import annotate_code, remove_step_comments
from njc.evaluation.repair.loop import EvaluationT, Proposal, RefusedProposal
from njc.evaluation.repair.reply import read_rationale
from njc.static.generate import (
    EXAMPLE_MESSAGES,
    REPAIR_SYSTEM_PROMPT,
    CodeCheck,
    extract_code,
    make_code_request,
    make_refusal_messages,
)
from njc.static.holes import Hole, format_question_form
from njc.static.lock import LockScore
from njrt.messages import Message, Request, UserMessage
from njrt.records import record, replace
from njrt.session.examples import RETURN_VALUE, Example, example_from_json
from njrt.values.shapes import ANY_SHAPE, merge_shapes

MAX_EXAMPLES = 30
"""The maximum number of examples for a block, taken evenly from all of them."""
_MIN_TO_HOLD_OUT = 4
_USABLE_OUTCOMES = ("completed", "broke", "continued", "returned", "raised")


@record
class ExampleSet:
    """The examples on which a hole's code is tested."""

    shown: tuple[Example, ...] = ()
    held_out: tuple[Example, ...] = ()
    unusable: tuple[str, ...] = ()
    """The reasons why some runs cannot be used, without repetition."""

    @property
    def all(self) -> tuple[Example, ...]:
        """All examples, with the held-out ones last."""
        return (*self.shown, *self.held_out)


def parse_examples(lines: Iterable[str]) -> Iterator[Example]:
    """Yield the examples among a trace's lines; an incomplete last line is ignored."""
    for line in lines:
        if '"example"' in line:
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                written = json.loads(line)
                if written.get("event") == "example":
                    yield example_from_json(written)


def select_examples(hole: Hole, examples: Iterable[Example]) -> ExampleSet:
    """Choose a hole's examples: runs of a block with the same instruction."""
    own = [example for example in examples if example.instruction == hole.instruction]
    unusable: dict[str, None] = {}
    usable = []
    for example in own:
        if problem := _find_problem(example, hole):
            unusable[problem] = None
        else:
            usable.append(example)
    merged = _merge_by_majority(usable)
    step = max(1.0, len(merged) / MAX_EXAMPLES)
    chosen = [merged[int(at * step)] for at in range(min(len(merged), MAX_EXAMPLES))]
    hold = len(chosen) >= _MIN_TO_HOLD_OUT
    return ExampleSet(
        tuple(example for at, example in enumerate(chosen) if not (hold and at % 3 == 2)),
        tuple(example for at, example in enumerate(chosen) if hold and at % 3 == 2),
        tuple(unusable),
    )


def _find_problem(example: Example, hole: Hole) -> str:
    """Return why a run cannot be used; empty if it can be."""
    for name, what in example.lost.items():
        if name in list_hole_inputs(hole) or name in hole.writes or name == RETURN_VALUE:
            return f"`{name}` holds {what}"
    if example.outcome not in _USABLE_OUTCOMES:
        return f"it ended as {example.outcome}"
    return ""


def list_hole_inputs(hole: Hole) -> tuple[str, ...]:
    """Return the variables that the prompt reads."""
    references = hole.block.references
    return tuple(dict.fromkeys(it.root for it in references if not it.writes or it.is_dotted))


def _merge_by_majority(examples: Sequence[Example]) -> list[Example]:
    """Return one run from each group with equal inputs: one with the most frequent outcome."""
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[json.dumps(example.before, sort_keys=True)].append(example)
    merged = []
    for group in groups.values():
        ((most, _),) = Counter(map(_make_outcome_key, group)).most_common(1)
        merged.append(next(it for it in group if _make_outcome_key(it) == most))
    return merged


def _make_outcome_key(example: Example) -> str:
    after = json.dumps(example.after, sort_keys=True)
    return f"{example.outcome} {example.value} {example.error} {after}"


def find_observed_shapes(hole: Hole, examples: Sequence[Example]) -> Mapping[str, str]:
    """Return the shapes, over all runs, of the variables bound before the block, except `object`."""
    seen = {}
    for name in dict.fromkeys((*list_hole_inputs(hole), *sorted(hole.bound_before))):
        found = [example.shapes[name] for example in examples if name in example.shapes]
        shape = merge_shapes(found) if found and len(found) == len(examples) else ANY_SHAPE
        if shape != ANY_SHAPE:
            seen[name] = shape
    return seen


@record
class ExampleFailure:
    """An example that the code failed on, with the steps of that run."""

    example: Example
    differences: tuple[str, ...]
    trace: ExecutionTrace


@record
class Evaluation:
    """The result of running code on all examples; `failures` may be shown to the model."""

    score: LockScore
    failures: tuple[ExampleFailure, ...] = ()

    @property
    def rank(self) -> tuple[int, ...]:
        return self.score.rank

    @property
    def can_improve(self) -> bool:
        """Whether a failure may be shown to the model."""
        return bool(self.failures)

    def __str__(self) -> str:
        return str(self.score)


@record
class HoleRepair(Generic[EvaluationT]):
    """The repair of a hole's code, using recorded runs or a test command."""

    hole: Hole
    check: CodeCheck
    evaluate: Callable[[str], EvaluationT]
    describe: Callable[[Hole, str, EvaluationT, int], str]
    """Describes what went wrong with the code, given the number of the request, from 1."""
    asks_rationale: bool = True

    def make_request(
        self,
        code: str,
        evaluation: EvaluationT,
        refused: RefusedProposal | None,
        turn: int,
        temperature: float | None,
    ) -> Request:
        """Return a request that describes the failure, and the proposal refused since then, if any."""
        refusal: tuple[Message, ...] = ()
        if refused and refused.code:
            refusal = make_refusal_messages(refused.code, refused.refusals)
        problem = self.describe(self.hole, code, evaluation, turn)
        messages: tuple[Message, ...] = (UserMessage(f"{self.hole.shown}\n\n{problem}"), *refusal)
        if not self.asks_rationale:
            messages = (*EXAMPLE_MESSAGES, *messages)
        request = make_code_request(self.hole, messages, temperature, turn)
        return replace(request, system=REPAIR_SYSTEM_PROMPT) if self.asks_rationale else request

    def read_reply(self, text: str) -> Proposal:
        code = remove_step_comments(extract_code(text, self.hole) or "")
        return Proposal(code, read_rationale(text) if self.asks_rationale else "")


def make_correction_prompt(
    hole: Hole, code: str, evaluation: Evaluation, turn: int, asks_rationale: bool = False
) -> str:
    """Describe a failed run (a different one each turn), with its steps as comments in the code."""
    failure = evaluation.failures[(turn - 1) % len(evaluation.failures)]
    before = "\n".join(
        f"{name} = {text if len(text) <= _MAX_CHARS else f'{text[:_MAX_CHARS]}...'}"
        for name, text in failure.example.before.items()
    )
    wrong = "\n".join(f"- {difference}" for difference in failure.differences)
    return f"""\
There is code for this place already. It was run on recorded runs of the program: {evaluation.score}. In one that went \
wrong there was

{before}

and the code did this; the comments are the values after each step:

```python
{annotate_code(code, failure.trace)}
```

{wrong}

Find the mistake in the code, and correct it for all such values: write no special case for these.{make_hint(hole, code)} \
{RATIONALE_INSTRUCTION if asks_rationale else _CODE_INSTRUCTION}"""


_CODE_INSTRUCTION = "Send the code anew, corrected and without these comments: only the statements for the marked place."
RATIONALE_INSTRUCTION = (
    "Write the rationale first, then the code, corrected and without these comments: only the statements for "
    "the marked place."
)


def make_hint(hole: Hole, code: str) -> str:
    """Return a hint for code that does not ask a model; empty in the mode `auto`."""
    if hole.helper in code or hole.mode == "auto":
        return ""
    return f" If it takes understanding of a text, ask for what the text says: {format_question_form(hole)}."


_MAX_CHARS = 600
