"""`njc` on odd projects: names, settings and files that no tutorial has, each with what a user may expect."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from workplace import GREETING, MISSPELT, WRITER, Workplace, clean_environment

import njrt
from njc.commands import COMMANDS

# ── Which files are compiled, and where to ───────────────────────────────────────────────────────


PROJECTS: Mapping[str, tuple[Mapping[str, str], str, list[str] | str]] = {
    # files, the command, and then the compiled files or a part of the error
    "no settings: `tool` is a number": (
        {"pyproject.toml": "tool = 3\n", "a.njpy": GREETING},
        "build a.njpy",
        ["a.py"],
    ),
    "no settings: `tool` is a list": (
        {"pyproject.toml": "[[tool]]\nnjc = 1\n", "a.njpy": GREETING},
        "build a.njpy",
        ["a.py"],
    ),
    "settings as deep as a tree of lists": (
        {"pyproject.toml": f"a = {'[' * 5000}{']' * 5000}\n", "a.njpy": GREETING},
        "build a.njpy",
        "pyproject.toml: cannot be read as TOML",
    ),
    "a source root that is a file": (
        {"pyproject.toml": '[tool.njc]\nsrc = "src/a.njpy"\nout = "out"\n', "src/a.njpy": GREETING},
        "build",
        ["out/a.py"],
    ),
    **{
        f"one file by two paths: {words}": (
            {"src/shop/a.njpy": GREETING},
            f"build {words} -o out",
            ["out/shop/a.py"],
        )
        for words in ("src src/shop", "src/shop src", "src src/shop/a.njpy")
    },
    "a name with a line feed": (
        {"a\nimport os #.njpy": GREETING, "b.njpy": GREETING},
        "build . -o out",
        "'a\\nimport os #.njpy': a name with a line break cannot be compiled",
    ),
    "a name with a carriage return": (
        {"a\rb.njpy": "x = 1\n"},
        "build . -o out",
        "a name with a line break cannot be compiled",
    ),
    "names with blanks, dashes, dots and other letters": (
        {"my src/größe/a-b.c.njpy": GREETING, "my src/a.njpy/(b).njpy": GREETING},
        "build . -o out",
        ["out/my src/a.njpy/(b).py", "out/my src/größe/a-b.c.py"],
    ),
    "a directory where a file is shown": ({"src/a.njpy": GREETING}, "show src", "is a directory"),
    "a directory of two files": (
        {"src/a.njpy": GREETING, "src/b.njpy": GREETING},
        "show src",
        "is a directory",
    ),
    "output into a file": ({"a.njpy": GREETING}, "build a.njpy -o a.njpy", "cannot write a.njpy/"),
    "text in UTF-16": (
        {"a.njpy": GREETING.encode("utf-16-le").decode("latin-1")},
        "build a.njpy",
        "save the file as UTF-8 if it is UTF-16",
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_compiled(here: Workplace, name: str) -> None:
    files, command, expected = PROJECTS[name]
    here.write(files)
    if isinstance(expected, str):
        result = here.njc(*command.split(" "), code=1 if name == "text in UTF-16" else 2)
        assert expected in result.stderr
        assert here.files() == sorted(files)
        return
    here.njc(*command.split(" "))
    assert [file for file in here.files() if file.endswith(".py")] == expected
    here.njc(*command.split(" "), "--check")


@pytest.mark.parametrize(
    ("key", "pattern", "compiled"),
    [
        ("exclude", "./a.njpy", ["out/b/a.py", "out/b/c.py"]),
        ("exclude", "/b/", ["out/a.py"]),
        ("exclude", "**/a.njpy", ["out/b/c.py"]),
        ("include", "**/a.njpy", ["out/a.py", "out/b/a.py"]),
        ("exclude", "*/a.njpy", ["out/a.py", "out/b/c.py"]),
    ],
)
def test_what_a_pattern_matches(
    here: Workplace, key: str, pattern: str, compiled: list[str]
) -> None:
    here.write(dict.fromkeys(("a.njpy", "b/a.njpy", "b/c.njpy"), GREETING))
    here.write({"pyproject.toml": f'[tool.njc]\n{key} = ["{pattern}"]\n'})
    for flags in ([], ["--check"]):
        here.njc("build", ".", "-o", "out", *flags)
    assert here.files("out") == compiled


def test_files_by_name_are_checked_without_regard_to_their_outputs(here: Workplace) -> None:
    settings = '[tool.njc]\nout = "out"\n'
    here.write({"pyproject.toml": settings, "a/x.njpy": GREETING, "b/x.njpy": MISSPELT})
    assert here.njc("check", "a/x.njpy", "b/x.njpy", code=1).stdout.split(":")[0] == "b/x.njpy"
    here.njc("build", "a/x.njpy", "b/x.njpy", code=2)


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        ("src/a.njpy", True),
        ("out/a.py", True),
        ("out/a.pyi", True),
        ("pyproject.toml", True),
        ("shop/pyproject.toml", True),
        ("njc.lock", True),
        ("poetry.lock", False),
        ("notes.md", False),
    ],
)
def test_the_hook_for_commits_runs_after_changes_that_matter(path: str, matters: bool) -> None:
    hooks = (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text()
    (pattern,) = re.findall(r"^  files: (.+)$", hooks.partition("id: njc-build")[2], re.MULTILINE)
    assert bool(re.search(pattern, path)) is matters


def test_settings_beside_the_working_directory_do_not_count_for_other_projects(
    here: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write({"one/pyproject.toml": '[tool.njc]\nout = "wrong"\n', "two/a.njpy": GREETING})
    monkeypatch.chdir(here.folder / "one")
    here.njc("build", "../two")
    assert here.files() == ["one/pyproject.toml", "two/a.njpy", "two/a.py"]


@pytest.mark.parametrize(
    "command", ["build one two", "check one/a.njpy two/b.njpy", "build --clean one two"]
)
def test_sources_of_two_projects_are_refused(here: Workplace, command: str) -> None:
    settings = '[tool.njc]\nout = "out"\n'
    here.write({"one/pyproject.toml": settings, "one/a.njpy": GREETING, "two/b.njpy": GREETING})
    here.njc(*command.split())
    here.write({"two/pyproject.toml": settings})
    result = here.njc(*command.split(), code=2)
    assert "settings are in one/pyproject.toml and two/pyproject.toml" in result.stderr


def test_other_output_directories_in_the_sources_are_not_stale(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/shop/b.njpy": GREETING})
    here.njc("build", "src", "-o", "src/out")
    here.njc("build", "src")
    here.njc("build", "src", "--check")
    assert "0 files removed" in here.njc("build", "--clean", "src").stderr
    (here.folder / "src/a.njpy").unlink()
    assert "2 files removed" in here.njc("build", "--clean", "src").stderr
    assert here.files("src/out") == ["src/out/shop/b.py"]


def test_the_outputs_of_another_root_in_the_sources_are_not_stale(here: Workplace) -> None:
    here.write({"src/shop/a.njpy": GREETING, "src/b.njpy": GREETING, "c.njpy": GREETING})
    here.njc("build", "src", "-o", "out")
    assert "stale" not in here.njc("build", ".").stderr
    assert "0 files removed" in here.njc("build", "--clean", ".").stderr
    for gone in ("src/b.njpy", "c.njpy"):
        (here.folder / gone).unlink()
    assert "3 files removed" in here.njc("build", "--clean", ".").stderr
    assert here.files("out") == ["out/shop/a.py"]


def test_a_working_directory_that_is_gone(here: Workplace) -> None:
    here.write({"src/a.njpy": MISSPELT, "src/b.njpy": GREETING})
    script = (
        "import os, shutil, sys\n"
        "os.mkdir('gone')\n"
        "os.chdir('gone')\n"
        "shutil.rmtree(os.getcwd())\n"
        "from njc.cli import main\n"
        "main()\n"
    )
    source = here.folder / "src/a.njpy"
    result = here.python("-c", script, "check", str(source), code=1)
    assert result.stdout.split(":")[0] == str(source)
    here.python("-c", script, "build", str(here.folder / "src/b.njpy"))
    assert here.files("src")[-1] == "src/b.py"


# ── Files that cannot be changed, and links ──────────────────────────────────────────────────────


def test_a_file_that_cannot_be_removed_is_an_error(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING})
    here.njc("build", "src", "-o", "out")
    script = (
        "import os, sys\n"
        "def refuse(event, arguments):\n"
        "    if event == 'os.remove':\n"
        "        raise PermissionError(13, 'Permission denied')\n"
        "sys.addaudithook(refuse)\n"
        "sys.argv[0] = 'njc'\n"
        "from njc.cli import main\n"
        "main()\n"
    )
    (here.folder / "src/a.njpy").unlink()
    result = here.python("-c", script, "build", "--clean", "src", "-o", "out", code=2)
    assert result.stderr == "error: cannot remove out/a.py: Permission denied\n"


def test_old_leftovers_of_killed_writers_are_removed(here: Workplace) -> None:
    names = ("a.py", "a.pyi", "a.njpy", "njc.lock", "njc.lock.new", "other")
    old = [f"src/old/.{name}.8{tail}.tmp" for name in names for tail in ("", ".0a0a0a0a0a0a0a")]
    here.write(dict.fromkeys(("src/a.njpy", "src/.a.py.8.tmp", *old), ""))
    for name in old:
        os.utime(here.folder / name, (0, 0))
    here.njc("build", "--clean", "src")
    assert here.files() == ["src/.a.py.8.tmp", "src/a.njpy", *sorted(old[-2:])]


def test_a_link_to_the_lock_and_its_mode_are_kept(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "far/lock": "version = 1\n"})
    (here.folder / "far/lock").chmod(0o664)
    (here.folder / "src/njc.lock").symlink_to("../far/lock")
    with njrt.using(model=WRITER):
        here.njc("build", "src", "--mode", "static")
    assert (here.folder / "src/njc.lock").is_symlink()
    assert "Hello {name}" in here.read("far/lock")
    assert (here.folder / "far/lock").stat().st_mode & 0o777 == 0o664


def test_two_sources_of_one_name_do_not_share_static_code(here: Workplace) -> None:
    here.write({"one/a.njpy": GREETING, "two/a.njpy": GREETING.replace("Greet", "Welcome")})
    with njrt.using(model=WRITER):
        result = here.njc("build", "one", "two", "--mode", "static", code=2)
        assert "one/a.njpy and two/a.njpy have one name in njc.lock" in result.stderr
        here.njc("build", "one", "two")
        here.njc("build", ".", "--mode", "static")


@pytest.mark.parametrize("out", ["src", "link", "src/../link"])
def test_python_files_are_not_copied_onto_themselves(here: Workplace, out: str) -> None:
    here.write({"src/shop/__init__.py": "X = 1\n", "src/shop/a.njpy": GREETING})
    (here.folder / "link").symlink_to("src")
    for flags in ([], ["--force"], ["--check"]):
        here.njc("build", "src", "-o", out, *flags)
    (here.folder / "src/shop/a.njpy").unlink()
    here.njc("build", "--clean", "src", "-o", out)
    assert here.files("src") == ["src/shop/__init__.py"]
    assert here.read("src/shop/__init__.py") == "X = 1\n"


# ── What is printed ──────────────────────────────────────────────────────────────────────────────

FOREIGN = MISSPELT.replace("Greet", "Grüße 日本 😀")
ODD_NAME = b"src/caf\xe9 50%20.njpy"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "command", ["check src", "show src/a.njpy", "show src/a.njpy --stage lower"]
)
def test_any_text_is_printed_in_any_encoding(here: Workplace, command: str, encoding: str) -> None:
    here.write({"src/a.njpy": FOREIGN})
    for form in ("text", "json"):
        result = subprocess.run(
            [sys.executable, "-m", "njc", *command.split(), "--output-format", form],
            env=clean_environment() | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert b"Traceback" not in result.stderr
        assert result.returncode == 1
        text = result.stdout.decode(encoding)
        if form == "json" and text:
            found = json.loads(text)
            assert "nmae" in str(found)


ODD_WORDS = """\
def f(error: int) -> str:
    \"""natural
    Put the note: <error>, into <:hint: str>. Say {note: 1} and <:note: 2 +>.
    \"""
    return hint
"""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check a.njpy --output-format json", 1),
        ("check a.njpy --output-format github", 1),
        ("build a.njpy -o out --output-format json", 1),
        ("show b.njpy --stage lower", 0),
    ],
)
def test_output_for_programs_has_no_colors(here: Workplace, command: str, code: int) -> None:
    here.write({"a.njpy": ODD_WORDS, "b.njpy": ODD_WORDS.replace(" and <:note: 2 +>", "")})
    plain, colored = (
        here.process(*command.split(), code=code, environ=environ)
        for environ in ({}, {"FORCE_COLOR": "1"})
    )
    assert plain.stdout
    assert colored.stdout == plain.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("command", ["check b.njpy", "build b.njpy", "store usage"])
def test_output_may_be_closed(here: Workplace, command: str, closed: str) -> None:
    here.write({"b.njpy": GREETING})
    here.shell(f"export XDG_STATE_HOME=$PWD; njc {command} {closed}")


@pytest.mark.parametrize("command", ["check .", "run ../a.njpy", "store usage", "doctor --offline"])
def test_a_working_directory_that_is_gone_is_an_error(here: Workplace, command: str) -> None:
    here.write({"a.njpy": GREETING})
    result = here.shell(f'mkdir gone; cd gone; rmdir "$PWD"; njc {command}', code=2)
    problem = "error: cannot use the working directory: No such file or directory\n"
    assert result.stderr == problem


BODY = (
    '{"jsonrpc": "2.0", "seq": 1, "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
)
INITIALIZE = f"Content-Length: {len(BODY)}\r\n\r\n{BODY}"


@pytest.mark.parametrize(
    ("command", "code", "problem"),
    [
        ("check m.njpy 2>&-", 1, ""),
        ("check m.njpy >&-", 2, "cannot write the output: Bad file descriptor"),
        ("--version >&-", 2, "cannot write the output: Bad file descriptor"),
        ("show a.njpy >&-", 2, "cannot write the output: Bad file descriptor"),
        ("explain >&- 2>&-", 2, ""),
        ("run p.njpy >&-", 0, ""),
        ("dap >&-", 0, ""),  # as if the editor is gone
        ("dap <&-", 2, "standard input is closed; an editor writes to it"),
        ("lsp >&-", 1, ""),
        ("lsp <&-", 2, "standard input is closed; an editor writes to it"),
    ],
)
def test_no_output_is_lost_in_silence(
    here: Workplace, command: str, code: int, problem: str
) -> None:
    """As by other programs; a program that `njc run` runs prints nothing, as in Python."""
    here.write({"a.njpy": GREETING, "m.njpy": MISSPELT, "p.njpy": "print(1)\n", "in": INITIALIZE})
    result = here.shell(f"njc {command}".replace(" >&-", " < in >&-"), code)
    assert result.stderr == (f"error: {problem}\n" if problem else "")


def test_names_that_are_not_utf8_are_named_in_json(here: Workplace) -> None:
    (here.folder / "src").mkdir()
    try:
        with open(ODD_NAME, "wb") as file:
            file.write(MISSPELT.encode())
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    found = json.loads(here.process("check", "src", "--output-format", "json", code=1).stdout)
    assert os.fsencode(found[0]["path"]) == ODD_NAME
    (here.folder / "src" / os.fsdecode(ODD_NAME[4:])).write_text(GREETING)
    here.njc("build", "src", "-o", "out")
    assert "1 up to date" in here.njc("build", "src", "-o", "out").stderr
    with njrt.using(model=WRITER):
        here.njc("build", "src", "--mode", "static")
    assert r'name = "caf\\xe9 50%20.njpy:greet"' in here.read("src/njc.lock")
    assert "1 up to date" in here.njc("build", "src", "--mode", "static", "--locked").stderr


@pytest.mark.parametrize("command", ["lock --mode static", "static --test true --repair"])
def test_a_directory_with_a_colon_is_no_block(here: Workplace, command: str) -> None:
    here.write({"a:b/c.njpy": GREETING})
    assert "c.njpy:greet" in here.njc(*command.split(), "a:b", code=1).output
    shown = here.njc("lock", "--mode", "static", "a:b", "a:b/c.njpy", code=1)
    assert "c.njpy:greet" in shown.stdout


@pytest.mark.parametrize("option", ["max-usd = inf", "max-seconds = inf"])
def test_a_limit_may_be_infinite(here: Workplace, option: str) -> None:
    program = GREETING + 'print(greet("Anna"))\n'
    here.write({"pyproject.toml": f"[tool.njc]\n{option}\n", "a.njpy": program})
    here.njc("build", "a.njpy")
    space: dict[str, object] = {}
    with njrt.using(model=njrt.Scripted([{"greeting": "Hello"}])):
        exec(compile(here.read("a.py"), "a.py", "exec"), space)


def test_the_example_of_static_has_all_that_is_needed(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING})
    _, *words = shlex.split(COMMANDS["static"])
    assert "no code has been written" in here.njc(*words, code=1).stderr


def test_a_module_of_a_server_that_is_not_text_is_kept(here: Workplace) -> None:
    (here.folder / "clock.py").write_bytes(b"\xff")
    result = here.njc("mcp", "add", "clock", "--", "no-such-server", code=2)
    assert here.files() == ["clock.py"]
    assert "clock.py exists, and is not written by this" in result.stderr
