"""Files that `spsbench crux`, `repair`, `surprise`, `states` and `export` cannot use: named, with a way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_repair import TOTAL, write

from spsbench.cli import main

RESULTS = Path(__file__).parents[2] / "spsbench" / "results"
CRUX = (RESULTS / "prediction" / "crux-qwen2.5-coder-1.5b.jsonl").read_text()
REPAIRS = (RESULTS / "repair" / "repair-qwen2.5-coder-1.5b.jsonl").read_text()
FILES = {
    "empty.jsonl": "",
    "text.jsonl": "no JSON\n",
    "list.jsonl": "[1, 2]\n",
    "binary.jsonl": b"\xff\xfe\x00{",
    "problem.jsonl": json.dumps(
        {"id": "a", "code": "def f(): return 1", "input": "", "output": "1"}
    ),
    "crux.jsonl": CRUX,
    "fixes.jsonl": REPAIRS,
    "torn.jsonl": CRUX[: CRUX.index("\n") + 1] + '{"kind": "answ\n' + CRUX,
    "wrong.py": "def f(:\n",
    "latin.py": b'x = "\xff"\n',
    "binary.py": b"\x00\x01",
}
CASES = [
    *(
        (f"{command} --model scripted --data {name}", f"Error: {name}: line 1 is ")
        for command in ("crux", "repair")
        for name in ("text.jsonl", "list.jsonl", "binary.jsonl", "crux.jsonl", "wrong.py")
    ),
    ("crux --model scripted --data empty.jsonl", "Error: empty.jsonl: the file has no problems"),
    ("repair --model scripted --data empty.jsonl", "Error: empty.jsonl has no problems"),
    ("repair --model scripted --data own.jsonl --data own.jsonl", "quixbugs/total 2 times"),
    ("repair --model nobody --data own.jsonl", "no vendor is known for model `nobody`"),
    ("surprise --model nobody", "no vendor is known for model `nobody`"),
    *(
        (f"{command} {name}", f"Error: {name}: line {line} ")
        for command, name, line in (
            (
                "crux --report",
                "fixes.jsonl",
                "1 of the results is damaged, or of another command",
            ),
            ("crux --report", "torn.jsonl", "2 of the results is"),
            ("repair-report", "crux.jsonl", "1 of the results is damaged, or of another command"),
            (
                "surprise-report",
                "crux.jsonl",
                "1 of the results is damaged, or of another command",
            ),
            (
                "crux --data problem.jsonl --model scripted --out",
                "fixes.jsonl",
                "1 of the results is damaged, or of another",
            ),
            (
                "repair --data own.jsonl --model scripted --out",
                "crux.jsonl",
                "1 of the results is damaged, or of another",
            ),
            (
                "surprise --model openai/local --out",
                "crux.jsonl",
                "1 of the results is damaged, or of another",
            ),
            (
                "export --out out --data own.jsonl --repairs",
                "crux.jsonl",
                "1 of the results is damaged, or of another",
            ),
            (
                "repair --data own.jsonl --rescore",
                "crux.jsonl",
                "1 of the results is damaged, or of another",
            ),
        )
    ),
    *(
        (
            f"{command} --out wrong.py/results.jsonl",
            "Error: cannot write to wrong.py/results.jsonl: ",
        )
        for command in (
            "crux --data problem.jsonl --model scripted",
            "repair --data own.jsonl --model scripted",
            "surprise --model openai/local",
        )
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
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit), "a message, not a traceback"
    assert message in done.output
    for name, text in FILES.items():
        assert Path(name).read_bytes() == (text if isinstance(text, bytes) else text.encode())
