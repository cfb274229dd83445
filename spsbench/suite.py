"""The 25 tasks by name, read from `programs/`.

load_task("menu")                 Task("menu", cases=...)
load_natural_program("menu")      the natural program, compiled by njc in memory, as a module

Eight tasks have a second natural program, `rewritten.njpy`: in five, its blocks only judge, and
Python changes the state; in the three others, prompts and types state more.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

from njrt.data.options import Options
from spsbench.script import Script
from spsbench.task import ProgramFile, Task

TASK_NAMES = (
    *("average_of_three", "balance_parentheses", "battle", "calendar", "character_builder"),
    *("coffeeshop", "email_classification", "enemy", "fact_checking", "feed_filtering"),
    *("filter_numbers", "get_enemy", "graph", "gsm8k", "health_data", "mask_sensitive_info"),
    *("menu", "pos_tagging", "proposer_verifier", "sentiment", "stores", "stream_generator"),
    *("task_completion", "tiny_bookshop", "wordle_solver"),
)
REWRITTEN_TASK_NAMES = (
    *("battle", "calendar", "fact_checking", "get_enemy", "health_data", "menu", "pos_tagging"),
    "task_completion",
)
PROGRAMS_PACKAGE = "spsbench.programs"


def load_task(name: str) -> Task:
    """Return the task of this name."""
    task = importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.task").TASK
    assert isinstance(task, Task)
    return task


def load_script(name: str, file: ProgramFile = "natural.njpy") -> Script:
    """Return a perfect model's replies in this task, to the natural program in `file`."""
    script = importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.script").SCRIPT
    assert isinstance(script, Script)
    if choose_program_file(name, file) != "rewritten.njpy":
        return script
    lines = {case: lines.use_rewritten() for case, lines in script.lines.items()}
    return Script(lines, replace(script.slip, lines=script.slip.lines.use_rewritten()))


def choose_program_file(name: str, file: ProgramFile) -> ProgramFile:
    """Return the file of a task's program, or `natural.njpy` if there is no rewritten program."""
    is_missing = file == "rewritten.njpy" and name not in REWRITTEN_TASK_NAMES
    return "natural.njpy" if is_missing else file


def read_program_source(name: str, file: ProgramFile) -> str:
    """Return the text of a task's program."""
    path = files(PROGRAMS_PACKAGE).joinpath(name, choose_program_file(name, file))
    return path.read_text(encoding="utf-8")


def digest_program(name: str, file: ProgramFile) -> str:
    """Return a digest of a task's program and checks; trials of other digests are not compared."""
    checks = files(PROGRAMS_PACKAGE).joinpath(name, "task.py").read_text(encoding="utf-8")
    text = f"{read_program_source(name, file)}\0{checks}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_manual_program(name: str) -> ModuleType:
    """Return the manual program."""
    return importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.manual")


NO_OPTIONS = Options()


def load_natural_program(
    name: str,
    options: Options = NO_OPTIONS,
    file: ProgramFile = "natural.njpy",
) -> ModuleType:
    """Compile and load the natural program; raises ValueError if it does not compile."""
    from njc.compiler.compiler import compile_source
    from njc.compiler.frontend.source import SourceFile

    path = f"{name}/{choose_program_file(name, file)}"
    source = SourceFile(path, read_program_source(name, file).encode())
    compilation = compile_source(source, project=options)
    if compilation.diagnostics or compilation.output is None:
        raise ValueError(f"{path} does not compile: {compilation.diagnostics}")
    module = f"{PROGRAMS_PACKAGE}.{path.removesuffix('.njpy').replace('/', '.')}"
    return make_program_module(module, compilation.output, path)


def make_program_module(name: str, code: bytes, path: str) -> ModuleType:
    """Run a program's code as a module with this name, which its classes need for annotations."""
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)
    return module
