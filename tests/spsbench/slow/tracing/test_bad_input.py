"""Files and options that the commands cannot use: one line names them, with a way out, and the exit code is 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from test_repair import TOTAL, write

from processes import run_python
from spsbench.cli import main

RESULTS = Path(__file__).parents[4] / "spsbench" / "results"
TRIALS = (RESULTS / "qwen2.5-coder-1.5b.jsonl").read_text()
REPAIRS = (RESULTS / "repair" / "repair-qwen2.5-coder-1.5b.jsonl").read_text()
FILES = {
    "empty.jsonl": "",
    "text.jsonl": "no JSON\n",
    "list.jsonl": "[1, 2]\n",
    "binary.jsonl": b"\xff\xfe\x00{",
    "trials.jsonl": TRIALS,
    "fixes.jsonl": REPAIRS,
    "torn.jsonl": REPAIRS[: REPAIRS.index("\n") + 1] + '{"kind": "rep\n' + REPAIRS,
    "wrong.py": "def f(:\n",
    "latin.py": b'x = "\xff"\n',
    "binary.py": b"\x00\x01",
}
CASES = [
    *(
        (f"repair --model scripted --data {name}", f"Error: {name}: line 1 is ")
        for name in ("text.jsonl", "list.jsonl", "binary.jsonl", "trials.jsonl", "wrong.py")
    ),
    ("repair --model scripted --data own.jsonl --data own.jsonl", "quixbugs/total 2 times"),
    ("repair --model nobody --data own.jsonl", "no vendor is known for model `nobody`"),
    *(
        (f"{command} {name}", f"Error: {name}: line {line} ")
        for command, name, line in (
            ("repair-report", "torn.jsonl", "2 of the results is"),
            ("repair-report", "trials.jsonl", "1 of the results is damaged, or of another command"),
            (
                "repair --data own.jsonl --model scripted --out",
                "trials.jsonl",
                "1 of the results is damaged, or of another",
            ),
            (
                "export --out out --data own.jsonl --repairs",
                "trials.jsonl",
                "1 of the results is damaged, or of another",
            ),
        )
    ),
    (
        "repair --data own.jsonl --model scripted --out wrong.py/results.jsonl",
        "Error: cannot write to wrong.py/results.jsonl: ",
    ),
    *(
        (f"states {name}", f"Error: {name} cannot be ")
        for name in ("wrong.py", "latin.py", "binary.py")
    ),
    *((f"states {name}", "Error: ") for name in ("empty.jsonl", "text.jsonl", "binary.jsonl")),
    (
        "export --traces empty.jsonl --out out",
        "nothing to export: no repair has passed, and no trace",
    ),
]


@pytest.mark.parametrize(("command", "message"), CASES, ids=[command for command, _ in CASES])
def test_what_cannot_be_used_is_named(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NJC_BASE_URL", raising=False)
    write(tmp_path / "own.jsonl", [TOTAL])
    for name, text in FILES.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit), "a message, not a traceback"
    assert message in done.output
    for name, text in FILES.items():
        assert Path(name).read_bytes() == (text if isinstance(text, bytes) else text.encode())


MADE = {
    "repair.jsonl": REPAIRS.encode(),
    "traces.jsonl": b'{"file_name": "menu", "run": 0, "trace": []}\n',
    "data/test.jsonl": b"",
}
DAMAGES = {
    "empty.jsonl": b"",
    "text.jsonl": b"no JSON\n",
    "list.jsonl": b"[1, 2]\n",
    "null.jsonl": b"null\n",
    "object.jsonl": b"{}\n",
    "deep.jsonl": b"[" * 100_000 + b"\n",
    "binary.jsonl": b"\xff\xfe\x00{",
    "other.jsonl": b'{"kind": "other", "started": "2026-03-01", "result": 3}\n',
    "missing.jsonl": None,
    "folder.jsonl": None,
}
"""Files by name; `other` is of another command."""
READING = (
    "repair --model scripted --data X",
    "repair-report X",
    "repair-report X --out made",
    "report X",
    "report X --out made",
    "export --repairs X --data own.jsonl --out made",
    "export --repairs repair.jsonl --data X --out made",
    "predict data --model X --out made",
    "states X",
)
CONTINUING = (
    "repair --data own.jsonl --model scripted --out X",
    "run --model scripted --methods direct --programs average_of_three --repeats 1 --out X",
)
"""They make a file that is missing, and write into one that is empty."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NJC_BASE_URL", raising=False)
    write(tmp_path / "own.jsonl", [TOTAL])
    (tmp_path / "data").mkdir()
    (tmp_path / "folder.jsonl").mkdir()
    for name, data in {**MADE, **DAMAGES}.items():
        if data is not None:
            Path(name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("command", READING + CONTINUING)
def test_a_file_that_is_damaged_ends_a_command_with_one_line(command: str, place: Path) -> None:
    begins = command in CONTINUING
    for name, data in DAMAGES.items():
        if begins and name in ("empty.jsonl", "missing.jsonl"):
            continue
        done = CliRunner().invoke(main, command.replace("X", name).split())
        assert isinstance(done.exception, SystemExit), (name, done.exception)
        assert done.exit_code == 2, (name, done.output)
        shown = done.output.splitlines()
        (error,) = [line for line in shown if line.startswith("Error: ")]
        assert name in error, error
        assert error == shown[-1]
        assert data is None or Path(name).read_bytes() == data
        assert not Path("made").exists(), name


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"{command} {option}"
            for command in ("repair --data own.jsonl", "run")
            for option in ("--temperature -1", "--temperature nan", "--seconds inf", "--seconds 0")
        ),
        "run --repeats 0",
        *(f"{command} --jobs 0" for command in ("repair", "run")),
        "repair --data own.jsonl --sample -1",
        "run --model nobody/here",
        "run --methods nosuch",
        "repair --data own.jsonl --conditions nosuch",
        "train data --size nosuch --out made",
        "run --limit-cost nan",
        "export --out made",
        "report",
    ],
)
def test_an_option_that_cannot_be_is_refused(command: str, place: Path) -> None:
    words = command.split()
    with_model = words[0] in ("repair", "run")
    arguments = ["--model", "scripted"] if with_model and "--model" not in words else []
    done = CliRunner().invoke(main, [*words, *arguments])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2, done.output
    assert done.output.splitlines()[-1].startswith("Error: ")
    assert not Path("made").exists()


def test_help_imports_the_work_of_no_command() -> None:
    code = "import sys, spsbench.cli; print(*(name for name in sys.modules if 'spsbench.' in name))"
    done = run_python("-c", code, check=True)
    modules = [name for name in done.stdout.split() if name.count(".") > 1]
    assert {name.rpartition(".")[2] for name in modules} == {"command"}
