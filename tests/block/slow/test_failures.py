"""What goes wrong around a program is said in one clear message, with the exit code that fits, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from natural_place import DOUBLE, Place, at

from case_programs import read_program
from loopback import Raw, Response, Status
from openai_server import OpenAIServer, calls, says

PROGRAM = read_program("failures")
NOBODY = {"NJC_BASE_URL": "http://127.0.0.1:9/v1", "NJC_MODEL": "m"}


def outcome(folder: Path, program: str = PROGRAM, **environ: str) -> tuple[int, str, str]:
    """Run a program: its exit code, what it printed, and what was said about it."""
    done = Place(folder, program).run(**environ)
    return done.returncode, done.stdout, done.stderr


def said_clearly(stderr: str, *parts: str) -> None:
    """One message: what, where, and the way out; nothing of the machinery."""
    assert stderr.startswith("error: ")
    assert "Traceback" not in stderr
    assert "njrt/" not in stderr
    assert stderr.count("error: ") == 1
    for part in ("prog.njpy:2", *parts):
        assert part in stderr


@pytest.mark.parametrize(
    ("environ", "parts"),
    [
        ({"NJC_MODEL": "gpt-4.1"}, ["no vendor is known", "write openai/NAME"]),
        ({"NJC_MODEL": "opnai/gpt-4.1"}, ["write openai/NAME"]),
        ({"NJC_EFFECTS": "every"}, ["NJC_EFFECTS", "direct"]),
        ({"NJC_CACHE": "maybe", **NOBODY}, ["NJC_CACHE must be on or off, not 'maybe'"]),
        ({"NJC_RECORD": "often"}, ["NJC_RECORD must be off, MODE or MODE:PATH"]),
    ],
)
def test_wrong_configuration(tmp_path: Path, environ: dict[str, str], parts: list[str]) -> None:
    code, _, stderr = outcome(tmp_path, **environ)
    assert code == 2
    said_clearly(stderr, *parts)


def test_a_server_that_is_down(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        environ = at(server)
    code, printed, stderr = outcome(tmp_path, **environ)
    assert (code, printed) == (3, "cleaned up\n")
    said_clearly(stderr, environ["NJC_BASE_URL"])


TROUBLES: list[tuple[list[Response], dict[str, str], list[str]]] = [
    ([DOUBLE], {"NJC_API_KEY": "sk-wrong"}, ["NJC_API_KEY"]),
    ([DOUBLE], {"NJC_MODEL": "gpt-17"}, ["gpt-17"]),
    ([Status(400, body={"error": {"message": "context too long"}})], {}, ["context too long"]),
    ([says(None, refusal="I will not")], {}, ["refuse", "I will not"]),
    ([calls(("run", '{"code": "1 / 0"}'))] * 2, {}, ["2 model calls", "max_calls"]),
    ([Raw("<html>")] * 9, {}, []),
]


@pytest.mark.parametrize(("script", "environ", "parts"), TROUBLES)
def test_a_model_that_does_not_help(
    tmp_path: Path, script: list[Response], environ: dict[str, str], parts: list[str]
) -> None:
    with OpenAIServer(script) as server:
        code, _, stderr = outcome(tmp_path, **at(server, **environ))
    assert code == 3
    said_clearly(stderr, *parts)


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    with OpenAIServer([DOUBLE]) as server:
        assert outcome(tmp_path, **at(server, NJC_RECORD="all:kept.jsonl"))[0] == 0
    return tmp_path


def test_a_recording_is_replayed(recorded: Path) -> None:
    assert outcome(recorded, NJC_RECORD="none:kept.jsonl") == (0, "42\ncleaned up\n", "")
    moved = "# a comment moves every line\n" + PROGRAM
    assert outcome(recorded, moved, NJC_RECORD="none:kept.jsonl")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("double(21)", "double(22)", ["recorded: x: int = 21", "now:      x: int = 22"]),
        ("Put twice <x>", "Put <x> twice", ["recorded: Put twice <x> into", "now:      Put <x> twice"]),
        ("into <:y>", "into <:y: int>", ["recorded: Put twice", "now:      Put twice <x> into <:y: int>"]),
    ],
)  # fmt: skip
def test_a_recording_that_does_not_match_any_more(
    recorded: Path, old: str, new: str, difference: list[str]
) -> None:
    kept = (recorded / "kept.jsonl").read_bytes()
    changed = PROGRAM.replace(old, new)
    code, _, stderr = outcome(recorded, changed, NJC_RECORD="none:kept.jsonl")
    assert code == 3
    said_clearly(stderr, "kept.jsonl", "NJC_RECORD=new:kept.jsonl", *difference)
    assert (recorded / "kept.jsonl").read_bytes() == kept


# ── the program's own ────────────────────────────────────────────────────────────────────────────


def test_an_exception_of_the_block_is_a_traceback_of_the_program(tmp_path: Path) -> None:
    code = '{"code": "raise ValueError(f\'cannot double {x}\')", "done": true}'
    with OpenAIServer([calls(("run", code))]) as server:
        exit_code, _, stderr = outcome(tmp_path, **at(server))
    assert exit_code == 1
    assert "ValueError: cannot double 21\nnatural block at prog.njpy:2\n" in stderr
    assert stderr.count("natural block at") == 1
    assert "During handling" not in stderr
    frames = [line.strip() for line in stderr.splitlines() if line.startswith("  File ")]
    assert [frame.rpartition(" in ")[2] for frame in frames][:3] == ["<module>", "main", "double"]


def test_an_error_of_the_runtime_can_be_caught_by_the_program(tmp_path: Path) -> None:
    catching = (
        "\ntry:\n    main()\nexcept njrt.ConfigurationError as error:\n    print(error.place)\n"
    )
    program = PROGRAM.replace("\nmain()\n", catching)
    program = "import njrt\n" + program
    assert outcome(tmp_path, program) == (0, "cleaned up\nprog.njpy:3\n", "")
