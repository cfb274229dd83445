"""byLLM's tasks from Meaning-Typed Programming: the nine tasks with known answers.

    load_mtp_tasks(Path("mtp-evaluation"))    ->  (SuiteTask("math_problem", ...), ...)

The folder is a clone of jaseci-labs/mtp-evaluation. It states no licence, so the inputs are read from its programs
when the command runs. It has no expected answers; the judgements are ours. The four other tasks have no single right
answer. The tool of the Wikipedia task looks up short texts that we wrote, so it needs no network.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from njrt.messages import make_object_schema
from spsbench.results import InputError
from spsbench.suites.task import Bench, CallLog, Played, SuiteTask, SuiteTool
from spsbench.suites.values import Chore, Employee, Employer, Personality, PublicPerson, Singer


@dataclass(frozen=True, slots=True)
class MtpTask:
    """One of the nine tasks: its inputs, its question, its answer."""

    name: str
    inputs: Mapping[str, str]
    """The variables of the block, each with a regular expression for the text before its literal in the program."""
    question: str
    """The question's text, with `<name>` for each input."""
    result: Any
    answer: Any
    accepts: Callable[[Any], bool]
    has_tools: bool = False


def has_word(word: str, text: str) -> bool:
    """Return whether a text contains a word, ignoring case."""
    return word.casefold() in text.casefold()


MTP_TASKS = (
    MtpTask(
        "math_problem",
        {"question": r"question = "},
        "Answer the <question>.",
        int,
        5,
        lambda value: value == 5,
    ),
    MtpTask(
        "mcq_reason",
        {"question": r"question: str = ", "choices": r"choices: dict = "},
        "Choose the key of the one right answer to <question> among <choices>.",
        str,
        "A",
        lambda value: value.strip(" .'\"") == "A",
    ),
    MtpTask(
        "odd_word_out",
        {"options": r"get_reason_and_oddword\("},
        "Say why one of <options> does not belong to the others, and which: first the reason, then the word.",
        tuple[str, str],
        ("It makes watches, and no cars.", "Casio"),
        lambda value: value[1].strip() == "Casio",
    ),
    MtpTask(
        "personality_finder",
        {"name": r"get_person_info\("},
        "Say who <name> is: full name, year of death and personality.",
        PublicPerson,
        PublicPerson("Martin Luther King Jr.", 1968, Personality.EXTROVERT),
        lambda value: value.year_of_death == 1968 and has_word("King", value.full_name),
    ),
    MtpTask(
        "taskman",
        {"descriptions": r"task_contents = "},
        "Estimate for each of <descriptions>, in their order, the minutes that it takes, and its priority from 1 to 10.",
        list[Chore],
        [Chore(f"chore {number}", 60, 5) for number in range(5)],
        lambda value: (
            len(value) == 5 and all(each.minutes > 0 and 1 <= each.priority <= 10 for each in value)
        ),
    ),
    MtpTask(
        "template",
        {"name": r"Singer\(name="},
        "Say who the singer <name> is: name, age and the two best-known songs.",
        Singer,
        Singer("Bruno Mars", 40, ["Just the Way You Are", "Grenade"]),
        lambda value: (
            has_word("Bruno", value.name)
            and [bool(song.strip()) for song in value.top_2_songs] == [True, True]
        ),
    ),
    MtpTask(
        "text_to_type",
        {"info": r"info: str = "},
        "Extract the employee that <info> is about.",
        Employee,
        Employee("Alice", 21, Employer("LMQL Inc", "Zurich, Switzerland"), "engineer"),
        lambda value: (
            (value.name, value.age, value.employer.name) == ("Alice", 21, "LMQL Inc")
            and has_word("Zurich", value.employer.location)
            and has_word("engineer", value.job)
        ),
    ),
    MtpTask(
        "translation",
        {"examples": r"examples: dict\[str, str\] = ", "word": r"translate\("},
        "Translate <word> as in <examples>.",
        str,
        "fromage",
        lambda value: value.strip(" .'\"").casefold() in ("fromage", "le fromage"),
    ),
    MtpTask(
        "wikipedia",
        {"question": r"question = "},
        "Answer the <question>, with the help of <get_wikipedia_summary>.",
        str,
        "in Cupertino, California",
        lambda value: has_word("Cupertino", value),
        has_tools=True,
    ),
)

SUMMARIES = {
    "Apple Inc.": "Apple Inc. is a company that makes computers and phones. Its headquarters are in Cupertino, California.",
    "Apple": "An apple is the fruit of an apple tree. For the company see Apple Inc.",
}


def get_wikipedia_summary(title: str) -> str:
    """Return the first lines of an article of Wikipedia."""
    found = {name.casefold(): text for name, text in SUMMARIES.items()}
    return found.get(title.strip().casefold(), f"There is no article {title!r}.")


def load_mtp_tasks(folder: Path) -> tuple[SuiteTask, ...]:
    """Return the nine tasks of a folder; raises `InputError` if it has none."""
    return tuple(make_task(folder, task) for task in MTP_TASKS)


def make_task(folder: Path, task: MtpTask) -> SuiteTask:
    """Return a task with the inputs of its program."""
    variables = read_inputs(folder, task)
    text = re.sub(r"<(\w+)>", r"`\1`", task.question)
    lines = [f"{name} = {value!r}" for name, value in variables.items()]
    kind = task.result.__name__ if type(task.result) is type else str(task.result)
    kind = kind.replace(f"{Chore.__module__}.", "")

    def open_bench() -> Bench:
        log = CallLog()
        if not task.has_tools:
            return Bench((), variables, log)
        function = log.watch(get_wikipedia_summary)
        name, about = function.__name__, function.__doc__ or ""
        schema = make_object_schema({"title": {"type": "string"}})
        tool = SuiteTool(name, f"{name}(title: str) -> str", about, schema, function)
        return Bench((tool,), {**variables, tool.name: function}, log)

    def judge(played: Played) -> bool:
        return played.value is not None and bool(task.accepts(played.value))

    return SuiteTask(
        name=task.name,
        stratum="tools" if task.has_tools else "values",
        turns=("\n".join([text, *lines]),),
        block=f"{task.question} Put the answer into <:answer: {kind}>.",
        open=open_bench,
        judge=judge,
        result=task.result,
        answer=task.answer,
        truth=((),),
        natural_truth=(f"answer = {write_expression(task.answer)}",),
    )


def write_expression(value: Any) -> str:
    """Return a value as a Python expression."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(write_expression, value))}]"
    if not is_dataclass(value):
        return repr(value)
    arguments = (write_expression(getattr(value, each.name)) for each in fields(value))
    return f"{type(value).__name__}({', '.join(arguments)})"


def read_inputs(folder: Path, task: MtpTask) -> Mapping[str, Any]:
    """Return the inputs of a task from its program; raises `InputError` if they are not found."""
    path = folder / "benchmarks" / task.name / f"{task.name}_mtllm.jac"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; --data names the folder of a clone of "
            "https://github.com/jaseci-labs/mtp-evaluation"
        ) from None
    return {name: read_literal(path, text, before) for name, before in task.inputs.items()}


def read_literal(path: Path, text: str, before: str) -> Any:
    """Return the literal that follows a text: the shortest one that Python can parse."""
    found = re.search(before + r"(?=[\"'\[{])", text)
    rest = text[found.end() :] if found else ""
    for end in re.finditer(r"[\"'\]}]", rest):
        try:
            return ast.literal_eval(rest[: end.end()])
        except (SyntaxError, ValueError):
            continue
    raise InputError(f"{path} has no literal after `{before}`; is it another version?")
