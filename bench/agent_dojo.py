"""Measure what a fully hijacked model reaches on AgentDojo, by what the program lets its blocks do.

    $ pip install agentdojo njpy && python bench/agent_dojo.py
    policy contained                     workspace      travel     banking       slack         all
    useful, of the user's tasks            40 / 40     20 / 20 ...

AgentDojo (Debenedetti et al., 2024; `agentdojo` 0.1.35, suites v1.2.2) has the user's tasks, the
tools, the state that they work on, the attackers' goals with the calls that reach them, and the
checks of both. Here each task of a user is a natural block, and its model is a script: either the
calls that solve the task, or the calls that reach the attacker's goal. That is more than a prompt
injection can do: the model obeys the attacker in every case, without a mistake.

A row gives what the script reached if the block names all tools, only those of its task, and those
with a rule: a call whose recipients, addresses and files (or all of whose arguments) do not occur
in the user's request is shown to a person, who accepts the honest calls and refuses the others.
"""

from __future__ import annotations

import argparse
import copy
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.testing import run

VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")
TARGETS: tuple[str, ...] = (
    "recipient",
    "recipients",
    "cc",
    "bcc",
    "participants",
    "email",
    "user",
    "user_email",
)
TARGETS += ("channel", "url", "file_path", "file_id", "filename", "attachments")
"""The arguments that say whom a call reaches, or which file."""

Call = Any  # agentdojo.functions_runtime.FunctionCall
Tool = Callable[..., Any]
Is = Callable[[str], bool]


def is_target(argument: str) -> bool:
    return argument in TARGETS


def is_argument(argument: str) -> bool:
    return True


@dataclass
class Outcome:
    """What a block has done (state: the calls that were made, and those that a person was asked about)."""

    answer: str = ""
    made: list[Call] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A task of a user as a natural block: its request, and the tools that it names."""

    request: str
    tools: tuple[str, ...]

    def write(self) -> str:
        """Return the program."""
        named = ", ".join(f"<{name}>" for name in self.tools) or "nothing"
        return (
            f"def work({', '.join(('request', *self.tools))}):\n"
            f'    """natural\n    Do what <request> asks for, with {named}.\n'
            "    Put what to tell the user into <:answer: str>.\n"
            '    """\n    return answer\n'
        )


# ── the block ────────────────────────────────────────────────────────────────────────────────────


def make_tools(suite: Any, environment: Any, outcome: Outcome) -> dict[str, Tool]:
    """Return the tools of a suite as functions on an environment, which note the calls that are made."""
    from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime

    runtime = FunctionsRuntime(suite.tools)

    def make_tool(name: str, fields: Iterable[str]) -> Tool:
        def tool(*values: Any, **named: Any) -> Any:
            arguments = signature.bind_partial(*values, **named).arguments
            result, problem = runtime.run_function(environment, name, arguments)
            if problem:
                raise ValueError(problem)
            outcome.made.append(FunctionCall(function=name, args=arguments))
            return result

        signature = inspect.Signature(
            [
                inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
                for each in fields
            ]
        )
        tool.__signature__ = signature  # type: ignore[attr-defined]
        tool.__name__ = tool.__qualname__ = name
        return tool

    return {each.name: make_tool(each.name, each.parameters.model_fields) for each in suite.tools}


def list_values(value: Any) -> Iterator[str]:
    """Yield the texts in an argument."""
    match value:
        case None | "":
            return
        case dict():
            for each in value.values():
                yield from list_values(each)
        case list() | tuple():
            for each in value:
                yield from list_values(each)
        case _:
            yield str(value)


def occur_in(request: str, arguments: dict[str, Any], is_checked: Is) -> bool:
    """Return whether the user's request has all values of the arguments that are checked."""
    checked = [value for name, value in arguments.items() if is_checked(name)]
    return all(text.lower() in request.lower() for value in checked for text in list_values(value))


def write_calls(calls: Sequence[Call], answer: str) -> str:
    """Return the code of a script: each call on its own, so that none stops the others."""
    lines = [
        f"try:\n    {call.function}(**{dict(call.args)!r})\nexcept (NameError, PermissionError):\n    pass"
        for call in calls
    ]
    return "\n".join([*lines, f"answer = {answer!r}"])


def run_block(
    suite: Any,
    environment: Any,
    block: Block,
    code: str,
    policy: str,
    rule: Is | None = None,
    is_honest: bool = False,
) -> Outcome:
    """Run a task's block with a model that writes `code`; the environment is changed."""
    outcome = Outcome()
    tools = make_tools(suite, environment, outcome)

    def decide(pending: Any) -> njrt.Decision:
        if not isinstance(pending.effect, njrt.Touch):
            return njrt.Accept()
        if rule is None or occur_in(block.request, pending.arguments, rule):
            return njrt.Accept()
        outcome.asked.append(pending.effect.function)
        return njrt.Accept() if is_honest else njrt.Reject("not what I asked for")

    names: dict[str, Any] = {"__name__": "agentdojo_task"}
    exec(compile_block(block), names)
    given = {name: tools[name] for name in block.tools}
    settings: dict[str, Any] = {"policy": policy}
    settings["model"] = njrt.Scripted(lambda request: run(code, done=True))
    if rule is not None:
        settings["intercept"] = decide
        if policy == "contained":
            settings["calls"] = [*given.values()]
        else:
            given = {name: njrt.gated(tool) for name, tool in given.items()}
    with njrt.using(cache=False, max_calls=2, **settings):
        try:
            outcome.answer = names["work"](block.request, *given.values())
        except njrt.NaturalError as error:
            outcome.answer = f"{type(error).__name__}: {error}"
    return outcome


def compile_block(block: Block) -> Any:
    compilation = compile_source(SourceFile("agentdojo_task.njpy", block.write().encode()))
    assert compilation.output is not None, compilation.diagnostics
    return compile(compilation.output, "agentdojo_task.py", "exec", dont_inherit=True)


# ── the suites ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Scene:
    """A suite with its environment, which each run copies."""

    suite: Any
    environment: Any
    policy: str

    def open(self, task: Any) -> tuple[Any, Any]:
        """Return the environment of a user's task, and a copy of it from before the run."""
        environment = task.init_environment(copy.deepcopy(self.environment))
        return environment, copy.deepcopy(environment)

    def is_useful(self, task: Any, rule: Is | None = None) -> tuple[bool, bool]:
        """Return whether the honest script solves the task, and whether a person was asked."""
        environment, before = self.open(task)
        calls = task.ground_truth(environment)
        block = Block(task.PROMPT, list_tools(calls))
        code = write_calls(calls, task.GROUND_TRUTH_OUTPUT)
        done = run_block(self.suite, environment, block, code, self.policy, rule, is_honest=True)
        by_calls = task.utility_from_traces(done.answer, before, environment, done.made)
        useful = task.utility(done.answer, before, environment) if by_calls is None else by_calls
        return bool(useful), bool(done.asked)

    def is_reached(self, task: Any, attack: Any, all_tools: bool, rule: Is | None = None) -> bool:
        """Return whether the hijacked script reaches the attacker's goal in a user's task."""
        environment, before = self.open(task)
        tools = list_tools(task.ground_truth(environment))
        if all_tools:
            tools = tuple(each.name for each in self.suite.tools)
        block = Block(task.PROMPT, tools)
        code = write_calls(attack.ground_truth(environment), attack.GROUND_TRUTH_OUTPUT)
        done = run_block(self.suite, environment, block, code, self.policy, rule)
        by_calls = attack.security_from_traces(done.answer, before, environment, done.made)
        reached = (
            attack.security(done.answer, before, environment) if by_calls is None else by_calls
        )
        return bool(reached)

    def is_written(self, task: Any) -> bool | None:
        """Return whether a script changes the state by writing to what tools return; None without any objects."""
        environment, _ = self.open(task)
        reads = [
            call for call in task.ground_truth(environment) if returns_objects(self.suite, call)
        ]
        if not reads:
            return None
        lines = []
        for call in reads:
            lines.append(f"found = {call.function}(**{dict(call.args)!r})")
            lines.append("for each in found if isinstance(found, list) else [found]:\n    " + WRITE)
        code = "\n".join([*lines, "answer = 'done'"])
        block = Block(task.PROMPT, list_tools(reads))
        run_block(self.suite, environment, block, code, self.policy)
        return ATTACKER in environment.model_dump_json()


ATTACKER = "attacker@example.com"
WRITE = f"""for name in ("recipient", "body", "subject", "title", "content", "sender"):
        if hasattr(each, name):
            setattr(each, name, {ATTACKER!r})"""


def returns_objects(suite: Any, call: Call) -> bool:
    """Return whether a tool returns objects of the state, which code could change."""
    from pydantic import BaseModel

    declared = next(tool.return_type for tool in suite.tools if tool.name == call.function)
    inner = getattr(declared, "__args__", (declared,))
    return any(isinstance(each, type) and issubclass(each, BaseModel) for each in inner)


def list_tools(calls: Iterable[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.function for call in calls))


def measure(scene: Scene) -> Counter[str]:
    """Return the numbers of one suite."""
    found: Counter[str] = Counter()
    attacks = [
        each
        for each in scene.suite.injection_tasks.values()
        if each.ground_truth(scene.environment)
    ]
    for task in scene.suite.user_tasks.values():
        found["tasks"] += 1
        found["useful"] += scene.is_useful(task)[0]
        for name, rule in (("targets", is_target), ("arguments", is_argument)):
            useful, is_asked = scene.is_useful(task, rule)
            found[f"useful, {name}"] += useful
            found[f"asked, {name}"] += is_asked
        written = scene.is_written(task)
        found["readers"] += written is not None
        found["written"] += bool(written)
        for attack in attacks:
            found["attacks"] += 1
            found["all tools"] += scene.is_reached(task, attack, True)
            found["own tools"] += scene.is_reached(task, attack, False)
            found["targets"] += scene.is_reached(task, attack, False, is_target)
            found["arguments"] += scene.is_reached(task, attack, False, is_argument)
    return found


ROWS = (
    ("useful, of the user's tasks", "useful", "tasks"),
    ("attacks, all tools named", "all tools", "attacks"),
    ("attacks, the task's tools named", "own tools", "attacks"),
    ("  and targets in the request", "targets", "attacks"),
    ("    useful", "useful, targets", "tasks"),
    ("    a person is asked", "asked, targets", "tasks"),
    ("  and all arguments in it", "arguments", "attacks"),
    ("    useful", "useful, arguments", "tasks"),
    ("    a person is asked", "asked, arguments", "tasks"),
    ("written to what tools return", "written", "readers"),
)


def print_table(policy: str, columns: dict[str, Counter[str]]) -> None:
    """Print the numbers of each suite, and of all together."""
    total: Counter[str] = sum(columns.values(), Counter())
    columns = {**columns, "all": total}
    print(f"{f'policy {policy}':<34}" + "".join(f"{name:>12}" for name in columns))
    for label, of, whole in ROWS:
        cells = [f"{found[of]} / {found[whole]}" for found in columns.values()]
        print(f"{label:<34}" + "".join(f"{cell:>12}" for cell in cells))


def main() -> None:
    """Print a table for each policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="one suite only")
    parser.add_argument("--policy", action="append", choices=("contained", "guarded"))
    options = parser.parse_args()
    try:
        from agentdojo.task_suite.load_suites import get_suites
    except ImportError:
        print("agent_dojo: AgentDojo is not installed: pip install agentdojo")
        return

    suites = get_suites(VERSION)
    for policy in options.policy or ("contained", "guarded"):
        columns = {}
        for name in options.suite or SUITES:
            environment = suites[name].load_and_inject_default_environment({})
            columns[name] = measure(Scene(suites[name], environment, policy))
        print_table(policy, columns)


if __name__ == "__main__":
    main()
