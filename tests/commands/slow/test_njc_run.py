"""`njc run`: the program runs as Python would run it, and fails as Python would fail."""

from __future__ import annotations

import textwrap
from subprocess import CompletedProcess
from typing import Any

import pytest
from workplace import GREETING, MISSPELT, NOT_PYTHON, Workplace

from case_programs import read_program

FAILING = GREETING + (
    "\n\ndef fail(number):\n    return 1 / number\n\n\nif __name__ == '__main__':\n    fail(0)\n"
)


SETTING = 'x = 1\n"""natural\nSet <:x> to 2.\n"""\n'


def run(here: Workplace, program: str, *flags: str, **given: Any) -> CompletedProcess[str]:
    """Run a program of one file."""
    here.write({"prog.njpy": program})
    return here.process("run", *flags, "prog.njpy", **given)


def test_the_program_finds_itself_at_home(here: Workplace) -> None:
    here.write(
        {
            "app/prog.njpy": GREETING
            + "import sys, helper, pickle\n"
            + "class Thing: pass\n"
            + "print(__name__, sys.argv, __file__, sys.path[0])\n"
            + "print(helper.greet.__module__, helper.__file__)\n"
            + "print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, __doc__, __spec__)\n"
            + "print(__builtins__)\n"
            + "sys.exit(7)\n",
            "app/helper.njpy": GREETING,
        }
    )
    result = here.process("run", "app/prog.njpy", "--fast", "-v", "x", code=7)
    app = here.folder / "app"
    assert result.stdout.splitlines() == [
        f"__main__ ['app/prog.njpy', '--fast', '-v', 'x'] {app}/prog.njpy {app}",
        f"helper {app}/helper.njpy",
        "True None None",
        "<module 'builtins' (built-in)>",
    ]
    assert here.files() == ["app/helper.njpy", "app/prog.njpy"], "nothing is written, no bytecode"


def test_tracebacks_show_the_source_and_nothing_of_njc(here: Workplace) -> None:
    result = run(here, FAILING, code=1)
    frames = [line.strip() for line in result.stderr.splitlines() if " File " in line]
    file = here.folder / "prog.njpy"
    assert frames == [
        f'File "{file}", line 13, in <module>',
        f'File "{file}", line 9, in fail',
    ]
    assert "    return 1 / number\n" in result.stderr
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_tracebacks_through_imports_show_the_source(here: Workplace) -> None:
    here.write({"pkg/broken.njpy": GREETING + "1 / 0\n"})
    result = run(here, "import pkg.broken\n", code=1)
    frames = [line.strip() for line in result.stderr.splitlines() if " File " in line]
    assert [frame.split('"')[2] for frame in frames] == [
        ", line 1, in <module>",
        ", line 6, in <module>",
    ]
    assert "broken.njpy" in frames[1]


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('that is all')", 1, "that is all\n"),
        ("raise KeyboardInterrupt", 130, ""),
        ("import os; os._exit(5)", 5, ""),
        (
            "from njrt.errors import TimeLimitError as E; raise E('too slow; raise max_seconds')",
            3,
            "error: too slow; raise max_seconds\n",
        ),
        (
            "from njrt.errors import NoModelError as E; raise E('no model; set NJC_MODEL')",
            2,
            "error: no model; set NJC_MODEL\n",
        ),
        (
            "import sys; sys.excepthook = lambda *error: print('mine', file=sys.stderr); 1 / 0",
            1,
            "mine\n",
        ),
    ],
)
def test_exit_codes(here: Workplace, program: str, code: int, message: str) -> None:
    assert run(here, program + "\n", code=code).stderr == message


COUNTING = read_program("njc_run_counting")


def test_natural_blocks_are_carried_out(here: Workplace) -> None:
    script = """
        with replies("total += len(word)", "total += len(word)", "break"):
            print(count(["a", "bcd", "stop", "never"]))
        """
    result = run(here, COUNTING + textwrap.dedent(script), "--set", "policy=guarded")
    assert (result.stdout, result.stderr) == ("4\n", "")


def test_the_runtime_is_told_what_the_project_says(here: Workplace) -> None:
    here.write({"pyproject.toml": '[tool.njc]\nmax-calls = 1\npolicy = "guarded"\n'})
    result = run(here, COUNTING + "with replies('total.x', 'total.y'):\n    count('a')\n", code=3)
    assert result.stderr.startswith("error: ")
    assert "prog.njpy:8" in result.stderr
    assert "max_calls" in result.stderr


def test_no_model_is_a_matter_of_configuration(here: Workplace) -> None:
    result = run(here, SETTING, code=2)
    assert result.stderr.startswith("error: prog.njpy:2: no model is configured; ")
    assert all(name in result.stderr for name in ("OPENAI_API_KEY", "NJC_BASE_URL", "NJC_MODEL"))


def test_a_flag_is_stronger_than_the_environment(here: Workplace) -> None:
    environ = {"NJC_MODEL": "atlantis/one"}
    by_environment = run(here, SETTING, code=2, environ=environ)
    by_flag = run(here, SETTING, "--set", "model=lemuria/two", code=2, environ=environ)
    assert "atlantis" in by_environment.stderr
    assert "lemuria" in by_flag.stderr
    assert "atlantis" not in by_flag.stderr


def test_verbose_shows_a_natural_error_in_full(here: Workplace) -> None:
    result = run(
        here, "from njrt.errors import ModelError\nraise ModelError('down')\n", "-v", code=3
    )
    assert 'prog.njpy", line 2, in <module>' in result.stderr
    assert result.stderr.endswith("ModelError: down\n")


ASKING = (
    'def f(x: str) -> str:\n    """natural\n    Put <x> into <:y: str>.\n    """\n    return y\n'
)
USERS_ERRORS = {
    "build nowhere": "no such file",
    "build a.njpy --set modle=x": "unknown option",
    "trace nowhere.jsonl": "nowhere.jsonl",
    "eval a.njpy:g c.jsonl": "there is no function `g`",
    "eval a.njpy:f nowhere.jsonl": "nowhere.jsonl",
    "explain NJ999": "no code NJ999",
    "run nowhere.njpy": "nowhere.njpy",
    "run raises.njpy": "error: atlantis",
}


@pytest.mark.parametrize("command", USERS_ERRORS)
def test_verbose_shows_no_traceback_of_an_error_of_the_user(here: Workplace, command: str) -> None:
    here.write({"a.njpy": ASKING, "c.jsonl": '{"inputs": {"x": "a"}, "expect": "b"}\n'})
    here.write({"raises.njpy": "import njrt\nraise njrt.ConfigurationError('atlantis')\n"})
    name, *arguments = command.split()
    result = here.process(name, "-v", *arguments, code=2)
    assert USERS_ERRORS[command] in result.stderr
    assert "Traceback" not in result.stderr


MODELS = ["", "openai/gpt-4.1", "anthropic/claude-opus-4"]
NO_KEY = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "command",
    [
        "eval a.njpy:f c.jsonl",
        "batch a.njpy:f c.jsonl --out o.jsonl",
        "build a.njpy -o out --mode static",
        "doctor",
    ],
)
def test_a_missing_key_has_one_exit_code(here: Workplace, command: str, model: str) -> None:
    here.write({"a.njpy": ASKING})
    here.write({"c.jsonl": '{"x": "a"}\n' if "batch" in command else CASE})
    result = here.njc(*command.split(), environ=NO_KEY | {"NJC_MODEL": model}, code=2)
    assert "_API_KEY" in result.output
    assert "Traceback" not in result.output


CASE = '{"inputs": {"x": "a"}, "expect": "b"}\n'


@pytest.mark.parametrize("model", MODELS)
def test_a_missing_key_ends_a_program(here: Workplace, model: str) -> None:
    here.write({"calls.njpy": ASKING + "f('a')\n"})
    result = here.process("run", "calls.njpy", environ=NO_KEY | {"NJC_MODEL": model}, code=2)
    assert "_API_KEY" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("text", [MISSPELT, NOT_PYTHON])
def test_what_cannot_be_compiled_is_not_run(here: Workplace, text: str) -> None:
    here.write({"prog.njpy": "print('running')\n", "other.njpy": text})
    here.write({"importing.njpy": "import other\n"})
    alone = here.process("run", "other.njpy", code=1)
    imported = here.process("run", "importing.njpy", code=1)
    assert "other.njpy:" in alone.stderr
    assert "Traceback" not in alone.stderr + imported.stderr
    assert alone.stderr == imported.stderr
    assert "1 error in 1 file" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.njpy"], "no such file or directory: nowhere.njpy"),
        (["run", "."], "is a directory"),
        (["run", "plain.py"], "plain.py is not a .njpy file"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "--modl", "x", "plain.py"], "No such option '--modl'"),
    ],
)
def test_wrong_usage(here: Workplace, arguments: list[str], message: str) -> None:
    here.write({"plain.py": ""})
    assert message in here.njc(*arguments, code=2).stderr


def test_pdb_stops_at_the_line_of_the_source(here: Workplace) -> None:
    program = GREETING + "\ndef f():\n    x = 41\n    breakpoint()\n    return x\nf()\n"
    result = run(here, program, code=1, environ={"PYTHONBREAKPOINT": "pdb.set_trace"})
    assert "prog.njpy(9)f()" in result.stdout or "prog.njpy(10)f()" in result.stdout
    assert "-> return x" in result.stdout or "-> breakpoint()" in result.stdout


def test_coverage_counts_the_lines_of_the_source(here: Workplace) -> None:
    program = GREETING + "\ndef f(x):\n    if x:\n        return 1\n    return 2\n\nf(1)\n"
    here.write({"prog.njpy": program})
    here.python("-m", "coverage", "run", "--include", "*.njpy", "-m", "njc", "run", "prog.njpy")
    report = here.python("-m", "coverage", "report", "-m")
    (row,) = (line for line in report.stdout.splitlines() if line.startswith("prog.njpy"))
    assert row.split("%")[1].split(",") == ["   5", " 10"], "the lines that did not run"


PACKAGE = {
    "shop/__init__.py": "name = 'shop'\n",
    "shop/__main__.njpy": GREETING + "from . import name\nprint('main of', name, __spec__.name)\n",
    "shop/prog.njpy": GREETING
    + "import sys\nfrom . import name\nfrom .part import part\n"
    + "print(__name__, __package__, __spec__.name, name, part, sys.argv[1:], sys.path[0])\n"
    + "class Thing: pass\nimport pickle\nprint(type(pickle.loads(pickle.dumps(Thing()))) is Thing)\n"
    + "if sys.argv[1:] == ['fail']: 1 / 0\n",
    "shop/part.njpy": "part = 'part'\n",
    "shop/plain.py": "from .part import part\nprint('plain with', part)\n",
    "shop/broken.njpy": MISSPELT,
    "ill/__init__.py": "import not_there\n",
    "ill/prog.njpy": "",
}


@pytest.mark.parametrize(
    ("arguments", "code", "output", "error"),
    [
        (
            ["-m", "shop.prog", "--fast", "-v"],
            0,
            "__main__ shop shop.prog shop part ['--fast', '-v'] {here}\nTrue\n",
            "",
        ),
        (["-m", "shop"], 0, "main of shop shop.__main__\n", ""),
        (["--module", "shop.plain"], 0, "plain with part\n", ""),
        (["-m", "shop.prog", "fail"], 1, None, "ZeroDivisionError"),
        (["-m", "shop.broken"], 1, "", "error[NJ201]: `nmae` is not defined here"),
        (["-m", "shop.nowhere"], 2, "", "error: no module named `shop.nowhere`; it is searched"),
        (["-m", "nowhere.prog"], 2, "", "error: no module named `nowhere.prog`"),
        (["-m", "shop..prog"], 2, "", "error: no module named `shop..prog`"),
        (["-m", "sys"], 2, "", "error: the module `sys` has no source to run"),
        (["-m", "ill.prog"], 1, "", "ModuleNotFoundError: No module named 'not_there'"),
    ],
)
def test_modules(
    here: Workplace, arguments: list[str], code: int, output: str | None, error: str
) -> None:
    here.write(PACKAGE)
    result = here.process("run", *arguments, code=code)
    assert error in result.stderr
    assert "njc/run.py" not in result.stderr
    if output is not None:
        assert result.stdout == output.replace("{here}", str(here.folder))


def test_a_module_finds_itself_as_with_python(here: Workplace) -> None:
    program = (
        "import sys\nprint(__name__, __package__, __spec__.name, sys.argv, sys.path[0], __file__)\n"
    )
    here.write({"pkg/__init__.py": "", "pkg/a.py": program, "pkg/b.njpy": program})
    plain = here.python("-m", "pkg.a", "x").stdout
    natural = here.process("run", "-m", "pkg.b", "x").stdout
    assert natural.replace("b.njpy", "a.py").replace("pkg.b", "pkg.a") == plain


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("arguments", [["prog.njpy"], ["-m", "prog"]])
def test_processes_that_the_program_starts_run_its_blocks(
    here: Workplace, arguments: list[str], method: str
) -> None:
    program = """
        import multiprocessing, sys
        import njrt
        from njrt.testing import run

        def put(x, deeper):
            out = []
            with njrt.using(model=njrt.Scripted([run("out.append(x)", done=True)])):
                '''natural
                Append <x> to <out>.
                '''
            print(out, flush=True)
            if deeper:
                start(x + 1, False)

        def start(*arguments):
            process = multiprocessing.Process(target=put, args=arguments)
            process.start()
            process.join()

        if __name__ == "__main__":
            multiprocessing.set_start_method(sys.argv[1])
            start(1, True)
            data = multiprocessing.spawn.get_preparation_data("ignore")
            print("init_main_from_path" in data)  # Python 3.14 would run it without the hook
        """
    here.write({"prog.njpy": textwrap.dedent(program).replace("'''", '"""')})
    assert here.process("run", *arguments, method).stdout.splitlines() == ["[1]", "[2]", "False"]
