"""The 25 tasks by name, read from `programs/`.

load_task("menu")                 Task("menu", cases=...)
load_script("menu")               Script(...), the perfect model of the task
read_program_source("menu", "manual.py")     the text of one of its files
load_manual_program("menu")       the manual program, as a module
load_natural_program("menu")      the natural program, compiled by njc in memory, as a module
"""

from __future__ import annotations

import importlib
import sys
from importlib.resources import files
from types import ModuleType

from njrt.options import Options
from spsbench.script import Script
from spsbench.task import Task

TASK_NAMES = (
    "average_of_three",
    "balance_parentheses",
    "battle",
    "calendar",
    "character_builder",
    "coffeeshop",
    "email_classification",
    "enemy",
    "fact_checking",
    "feed_filtering",
    "filter_numbers",
    "get_enemy",
    "graph",
    "gsm8k",
    "health_data",
    "mask_sensitive_info",
    "menu",
    "pos_tagging",
    "proposer_verifier",
    "sentiment",
    "stores",
    "stream_generator",
    "task_completion",
    "tiny_bookshop",
    "wordle_solver",
)
PROGRAMS_PACKAGE = "spsbench.programs"


def load_task(name: str) -> Task:
    """The task of this name."""
    task = importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.task").TASK
    assert isinstance(task, Task)
    return task


def load_script(name: str) -> Script:
    """The replies of a perfect model in this task."""
    script = importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.script").SCRIPT
    assert isinstance(script, Script)
    return script


def read_program_source(name: str, file: str) -> str:
    """The text of `natural.njpy`, `manual.py`, or another file of a task."""
    return files(PROGRAMS_PACKAGE).joinpath(name, file).read_text(encoding="utf-8")


def load_manual_program(name: str) -> ModuleType:
    """The manual program."""
    return importlib.import_module(f"{PROGRAMS_PACKAGE}.{name}.manual")


NO_OPTIONS = Options()


def load_natural_program(name: str, options: Options = NO_OPTIONS) -> ModuleType:
    """The natural program, compiled again; it may not have a single diagnostic."""
    from njc.compiler import compile_source
    from njc.frontend.source import SourceFile

    path = f"{name}/natural.njpy"
    source = SourceFile(path, read_program_source(name, "natural.njpy").encode())
    compilation = compile_source(source, project=options)
    if compilation.diagnostics or compilation.output is None:
        raise ValueError(f"{path} does not compile: {compilation.diagnostics}")
    return make_program_module(f"{PROGRAMS_PACKAGE}.{name}.natural", compilation.output, path)


def make_program_module(name: str, code: bytes, path: str) -> ModuleType:
    """Run a program's code as a module of this name, in which its classes look up annotations."""
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, path, "exec"), module.__dict__)
    return module
