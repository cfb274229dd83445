"""`njc types` with real checkers on planted programs, and with scripted ones for all that can go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from planting import plant_programs

from njc.commands.compiling.types import command

NJC = [sys.executable, "-m", "njc"]
PLANTED = plant_programs()
PYRIGHT = shutil.which("pyright") or shutil.which(str(Path(sys.executable).parent / "pyright"))
Place = tuple[str, int, int]


def run(*arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NJC, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=110,
    )


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(textwrap.dedent(text).encode() if "\r" not in text else text.encode())
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project of planted programs, checked as strictly as its own configuration says."""
    folder = tmp_path_factory.mktemp("planted")
    files = {f"src/shop/{name}.njpy": program.text for name, program in PLANTED.items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return write(
        folder,
        {
            "pyproject.toml": """\
                [tool.mypy]
                strict = true
                mypy_path = "src,stubs"
                [tool.pyright]
                extraPaths = ["src", "stubs"]
                """,
            "src/shop/__init__.py": "",
            "src/shop/plain.py": "from .place_function import takes\n\ntakes(1)\n",
            "src/shop/using.njpy": """\
                from tinylib import price

                from .bound import total
                from .place_function import takes

                '''natural
                See <total.real>, <total.nix>, <takes> and <price>.
                '''
                price(total)
                """,
            "src/shop/bound.njpy": "'''natural\nBind <:total: int>.\n'''\n",
            "stubs/tinylib/__init__.pyi": "def price(name: str) -> int: ...\n",
        },
    )


def expect(checker: str) -> set[Place]:
    found = {
        (f"{name}.njpy", *place)
        for name, program in PLANTED.items()
        for place in getattr(program, checker)
    }
    attribute = {"mypy": 20, "pyright": 26}[checker]
    return found | {("plain.py", 3, 7), ("using.njpy", 7, attribute), ("using.njpy", 9, 7)}


def test_mypy_reports_each_planted_error_at_its_place(planted: Path) -> None:
    done = run("types", "src", "--", "mypy", "--output", "json", cwd=planted)
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [finding for finding in findings if finding["severity"] == "error"]
    places = {
        (Path(finding["file"]).name, finding["line"], finding["column"] + 1) for finding in errors
    }
    assert places == expect("mypy"), done.stderr
    assert done.returncode == 1
    assert {finding["file"].partition("/")[0] for finding in findings} == {"src"}

    again = run("types", "src", "--", "mypy", cwd=planted)
    named = re.findall(r"^src/shop/(\S+?):(\d+):(\d+): error: ", again.stdout, re.MULTILINE)
    assert {(name, int(line), int(column)) for name, line, column in named} == places
    assert ".njc_types" not in again.stdout + again.stderr


@pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed")
def test_pyright_reports_each_planted_error_at_its_place(planted: Path) -> None:
    done = run("types", "src", "--", str(PYRIGHT), "--outputjson", cwd=planted)
    document = json.loads(done.stdout)
    errors = [found for found in document["generalDiagnostics"] if found["severity"] == "error"]
    places = {
        (
            Path(found["file"]).name,
            found["range"]["start"]["line"] + 1,
            found["range"]["start"]["character"] + 1,
        )
        for found in errors
    }
    assert places == expect("pyright"), done.stderr
    assert done.returncode == 1
    assert all(Path(found["file"]).is_relative_to(planted / "src") for found in errors)


def test_the_calls_and_the_finding_of_the_page_are_right(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/types.md").read_text()
    calls, findings = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for call in calls.splitlines():
        _, _, *words = call.split()
        context = command.make_context("types", words)
        assert [str(source) for source in context.params["sources"]] == words[: words.index("--")]
        assert (
            context.meta["njc.commands.compiling.types.checker"] == words[words.index("--") + 1 :]
        )

    above = "from other import user\n'''natural\n" + "Hello.\n" * 11
    write(tmp_path, {"src/shop/mail.njpy": above + " Read the mail of <user.nmae>.\n'''\n"})
    line = findings.strip()
    checker = script(tmp_path, f"print({line.replace('mail.njpy:14:20', 'mail.py:3:11')!r})")
    assert run("types", "src", *checker, cwd=tmp_path).stdout.strip() == line


# ── checkers that do one thing ───────────────────────────────────────────────────────────────────

PROGRAM = """\
import json as user
'''natural
See <user.nmae>
and <user.real>.
'''
print(user)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return write(tmp_path, {"a.njpy": PROGRAM, "pyproject.toml": ""})


def script(folder: Path, body: str) -> list[str]:
    """Return a checker that is a script; its first words are those that come behind `--`."""
    (folder / "checker.py").write_text(textwrap.dedent(body))
    return ["--", sys.executable, str(folder / "checker.py")]


def test_the_checker_is_given_the_rendered_sources(place: Path) -> None:
    write(place, {"sub/b.py": "", "sub/deep/c.njpy": "x = 1\n", "notes.txt": "", ".venv/x": ""})
    checker = script(
        place,
        """\
        import os, sys
        print(*sys.argv[1:])
        print(os.path.basename(os.getcwd()), sorted(os.listdir()), os.listdir("sub/deep"))
        print(open("a.py").read())
        """,
    )
    done = run("types", "a.njpy", "sub", *checker, "--flag", "a.njpy", cwd=place)
    words, names, *text = done.stdout.splitlines()
    assert words == "--flag a.py sub"
    assert names.startswith(".njc_types ['.gitignore', '.venv', 'a.py', 'checker.py', 'notes.txt',")
    assert names.endswith("['c.py']")
    assert "_nj.print(user.nmae, user.real)" in text
    assert "a.njpy" not in os.listdir(place / ".njc_types")


def test_a_broken_link_is_not_given_to_the_checker(place: Path) -> None:
    (place / "b.njpy").symlink_to("nowhere.njpy")
    checker = script(place, "import os; print(sorted(os.listdir()))")
    for words in ([], ["a.njpy"]):
        done = run("types", *(words or ["."]), *checker, cwd=place)
        assert (done.returncode, "'b.py'" in done.stdout) == (0, False), done.stderr


@pytest.mark.parametrize("status", [0, 1, 2, 3, 77])
def test_the_exit_status_of_the_checker_is_kept(place: Path, status: int) -> None:
    done = run("types", "a.njpy", *script(place, f"raise SystemExit({status})"), cwd=place)
    assert done.returncode == status


def test_a_checker_that_crashes_is_reported_with_its_output(place: Path) -> None:
    body = """\
        import os, sys
        print("a.py:3: error: INTERNAL ERROR", file=sys.stderr, flush=True)
        os.kill(os.getpid(), 11)
        """
    done = run("types", "a.njpy", *script(place, body), cwd=place)
    assert done.returncode == 128 + 11
    assert "a.njpy:3: error: INTERNAL ERROR" in done.stderr
    assert "was ended by signal 11" in done.stderr


REPORTS = {
    "a.py:3:16: error: X  [x]": "a.njpy:3:11: error: X  [x]",
    "a.py:3:11:3:19: error: X": "a.njpy:3:6:3:14: error: X",
    "a.py:3:22: note: X": "a.njpy:4:6: note: X",
    "a.py:3: error: X": "a.njpy:3: error: X",
    'a.py:4:1: error: "y" already defined on line 4': 'a.njpy:6:1: error: "y" already defined on line 6',
    "a.py: error: Source file found twice": "a.py: error: Source file found twice",
    "other.py:3:1: error: X": "other.py:3:1: error: X",
    "Found 1 error in 1 file": "Found 1 error in 1 file",
    "{not json": "{not json",
    '{"file": "a.py", "line": 3, "column": 10}': '{"file": "a.njpy", "line": 3, "column": 5}',
    '{"file": "a.py", "line": -1, "column": -1}': '{"file": "a.njpy", "line": -1, "column": -1}',
    '{"line": 3}': '{"line": 3}',
    "a.py:999:999: error: X": "a.njpy:7:999: error: X",
}


def test_each_form_of_a_report_names_the_source(place: Path) -> None:
    lines = "\n".join(REPORTS)
    done = run("types", "a.njpy", *script(place, f"print({lines!r})"), cwd=place)
    found = dict(zip(REPORTS, done.stdout.splitlines(), strict=True))
    rendered = (place / ".njc_types/a.py").read_text().splitlines()
    assert rendered[2] == "_nj.print(user.nmae, user.real)"
    assert found == REPORTS


def test_a_report_of_pyright_names_the_source(place: Path) -> None:
    copy = place / ".njc_types/a.py"
    ranges = {"start": {"line": 2, "character": 15}, "end": {"line": 2, "character": 19}}
    found = [{"file": str(copy), "range": ranges}, {"file": str(copy), "message": "no range"}, {}]
    document = {"generalDiagnostics": found, "summary": {"errorCount": 1}}
    done = run("types", "a.njpy", *script(place, f"print({json.dumps(document)!r})"), cwd=place)
    translated = json.loads(done.stdout)
    first, second, third = translated["generalDiagnostics"]
    assert first["file"] == second["file"] == str(place / "a.njpy")
    assert first["range"]["start"] == {"line": 2, "character": 10}
    assert first["range"]["end"] == {"line": 2, "character": 14}
    assert third == {}
    assert translated["summary"] == {"errorCount": 1}

    text = f"{copy}\n  {copy}:3:16 - error: X\n    Attribute (y)\n"
    done = run("types", "a.njpy", *script(place, f"print({text!r}, end='')"), cwd=place)
    source = place / "a.njpy"
    assert done.stdout == f"{source}\n  {source}:3:11 - error: X\n    Attribute (y)\n"


BAD_CALLS = {
    "no checker": (["a.njpy"], "name the type checker behind `--`"),
    "not installed": (["a.njpy", "--", "no-such-checker"], "there is no command `no-such-checker`"),
    "not a program": (["a.njpy", "--", "./a.njpy"], "there is no command `./a.njpy`"),
    "no such source": (["b.njpy", "--", "true"], "no such file or directory: b.njpy"),
    "another kind": (["notes.txt", "--", "true"], "notes.txt is neither a .njpy file nor Python"),
    "nothing named": (["--", "true"], "nothing to compile"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_wrong_call_says_what_to_do(place: Path, arguments: list[str], message: str) -> None:
    (place / "notes.txt").touch()
    done = run("types", *arguments, cwd=place)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "'''natural\nPrint hello.\n'''\nx = (\n",
        "'''natural\n<nobody>\n'''\n",
        "x = 1; '''natural\n",
    ],
)
def test_sources_with_errors_are_reported_and_not_checked(place: Path, text: str) -> None:
    (place / "b.njpy").write_text(text)
    done = run("types", ".", *script(place, "print('checked')"), cwd=place)
    assert done.returncode == 1
    assert "b.njpy:" in done.stderr
    assert "was not run" in done.stderr
    assert not done.stdout
    alone = run("types", "a.njpy", *script(place, "print('checked')"), cwd=place)
    assert (alone.returncode, alone.stdout) == (0, "checked\n")


def test_the_copy_follows_the_project(place: Path) -> None:
    write(
        place,
        {"pack/__init__.py": "", "pack/b.njpy": PROGRAM, "pack/old.py": "", "gone/c.njpy": ""},
    )
    listing = script(place, "import os\nprint(*sorted(os.listdir()), *sorted(os.listdir('pack')))")
    copy = place / ".njc_types"
    assert "gone" in run("types", ".", *listing, cwd=place).stdout
    written = (copy / "pack/b.py").stat().st_mtime_ns
    (copy / ".cache_of_a_checker").touch()
    shutil.rmtree(place / "gone")
    (place / "pack/old.py").unlink()
    (place / "pack/b.py").write_text("# compiled beside its source\n")
    (place / "pack/new.njpy").write_text("x = 1\n")
    after = run("types", ".", *listing, cwd=place).stdout.split()
    assert "gone" not in after
    assert "old.py" not in after
    assert {"b.py", "new.py", ".cache_of_a_checker"} <= {*after}
    assert (copy / "pack/b.py").stat().st_mtime_ns == written
    assert (place / "pack/b.py").read_text() == "# compiled beside its source\n"
    assert (copy / ".gitignore").read_text() == "*\n"


def test_a_project_is_checked_from_a_folder_in_it_and_from_outside(place: Path) -> None:
    write(place, {"src/deep/b.njpy": PROGRAM})
    checker = script(
        place, "import os, sys\nprint(os.getcwd())\nprint(sys.argv[1] + ':3:11: error: X')"
    )
    inside = run("types", "b.njpy", *checker, cwd=place / "src/deep").stdout.splitlines()
    assert inside == [str(place / ".njc_types/src/deep"), "b.njpy:3:6: error: X"]
    other = write(place.parent / "elsewhere", {"pyproject.toml": ""})
    outside = run("types", place / "src/deep", place / "a.njpy", *checker, cwd=other).stdout
    assert outside.splitlines()[0] == str(place / ".njc_types")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_project_that_cannot_be_written_is_checked_in_a_temporary_copy(place: Path) -> None:
    checker = script(place, "import os\nprint(os.getcwd())")
    place.chmod(0o555)
    done = run("types", "a.njpy", *checker, cwd=place)
    place.chmod(0o755)
    assert done.returncode == 0
    assert not Path(done.stdout.strip()).exists()
