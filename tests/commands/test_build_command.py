"""`njc build` on real files: what is written, what is refused, what is left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

import pytest
from workplace import GREETING, MISSPELT, NOT_PYTHON, Workplace

from njc.project.build import plan_build
from njc.project.config import Project
from njc.project.units import find_units

HEADER = "# compiled by njc "


def test_a_tree_is_compiled_into_a_tree(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/pkg/b.njpy": GREETING, "src/pkg/data.txt": "x"})
    result = here.njc("build", "src", "-o", "out", "-v")
    assert here.files("out") == ["out/a.py", "out/pkg/b.py"]
    assert here.read("out/pkg/b.py").startswith(f"{HEADER}")
    assert "from pkg/b.njpy" in here.read("out/pkg/b.py")
    assert 'at="pkg/b.njpy:2"' in here.read("out/pkg/b.py")
    assert "src/a.njpy -> out/a.py" in result.stderr
    assert "2 files compiled" in result.stderr
    assert result.stdout == ""


def test_the_project_says_what_and_where(here: Workplace) -> None:
    here.write(
        {
            "pyproject.toml": '[tool.njc]\nsrc = "src"\nout = "out"\nexclude = ["drafts"]\nmax-effects = 7\n',
            "src/pkg/a.njpy": GREETING,
            "src/drafts/b.njpy": NOT_PYTHON,
        }
    )
    here.njc("build")
    assert here.files("out") == ["out/pkg/a.py"]
    assert 'project={"max_effects": 7}' in here.read("out/pkg/a.py")
    whole = here.read("out/pkg/a.py")
    here.njc("build", "src/pkg/a.njpy", "--force")
    assert here.read("out/pkg/a.py") == whole, "named alone, a file of the tree is the same file"
    here.njc("build", "--set", "max-effects=8", "--check", code=1)
    here.njc("build", "-o", "elsewhere")
    assert here.files("elsewhere") == ["elsewhere/pkg/a.py"]


def test_only_what_changed_is_compiled(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING})
    here.njc("build", "src", "-o", "out")
    before = (here.folder / "out/a.py").stat().st_mtime_ns
    here.write({"src/b.njpy": GREETING.replace("Greet", "Welcome")})
    os.utime(here.folder / "src/a.njpy")
    assert "1 file compiled, 1 up to date" in here.njc("build", "src", "-o", "out").stderr
    assert (here.folder / "out/a.py").stat().st_mtime_ns == before
    assert "Welcome" in here.read("out/b.py")


def test_the_same_bytes_by_any_number_of_processes(here: Workplace) -> None:
    here.write({f"src/{name}.njpy": GREETING for name in "abcde"})
    here.njc("build", "src", "-o", "one", "-j", "1")
    here.njc("build", "src", "-o", "two", "-j", "2")
    for name in "abcde":
        assert here.read(f"one/{name}.py") == here.read(f"two/{name}.py")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (MISSPELT, "src/b.njpy:3:11: error[NJ201]"),
        ("def f(:\n", "src/b.njpy:1:7: error[NJ001]"),
        ("# coding: nonsense\n", "src/b.njpy:1:1: error[NJ002]"),
    ],
    ids=["in a prompt", "without a block", "in no encoding"],
)
def test_one_error_and_nothing_is_written(here: Workplace, text: str | bytes, finding: str) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": text})
    result = here.njc("build", "src", "-o", "out", code=1)
    assert finding in result.stderr
    assert "nothing was written" in result.stderr
    assert not (here.folder / "out").exists()


def test_warnings_are_errors_by_choice(here: Workplace) -> None:
    here.write({"a.njpy": 'def f():\n    """natural\n    Find an <:answer>.\n    """\n'})
    here.njc("build", "a.njpy")
    here.write({"pyproject.toml": '[tool.njc]\nwarnings = "error"\n'})
    # The compiled file is up to date.
    assert "error[NJ204]" in here.njc("build", "a.njpy", code=1).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "out/a.py was not written by njc and would be overwritten"),
        (None, "out/a.py was compiled by njc and then edited by hand"),
    ],
)
def test_the_work_of_others_is_never_overwritten(
    here: Workplace, text: str | None, message: str
) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING})
    if text is None:
        here.njc("build", "src/a.njpy", "-o", "out")
        text = here.read("out/a.py").replace("return greeting", "return greeting + '!'")
    here.write({"out/a.py": text})
    result = here.njc("build", "src", "-o", "out", code=2)
    assert message in result.stderr
    assert "--force" in result.stderr
    assert here.read("out/a.py") == text
    assert here.files("out") == ["out/a.py"], "b.py is not written either"
    here.njc("build", "src", "-o", "out", "--force")
    assert here.read("out/a.py").startswith(HEADER)


EDITS = {
    "a comment at the end": lambda text: text + "# mine\n",
    "a changed line": lambda text: text.replace("return greeting", "return greeting + '!'"),
    "a removed line": lambda text: text.partition("\n")[2],
    "an empty file": lambda text: "",
}


@pytest.mark.parametrize("flags", [[], ["--set", "max-effects=8"]])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_check_has_one_exit_code_for_edited_files(
    here: Workplace, edit: Callable[[str], str], flags: list[str]
) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING})
    here.njc("build", "src", "-o", "out")
    here.write({"out/a.py": edit(here.read("out/a.py"))})
    assert "out/a.py was" in here.njc("build", "src", "-o", "out", "--check", *flags, code=1).stderr


def test_a_stale_file_and_a_stub_of_an_older_njc(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING})
    here.njc("build", "src", "-o", "out")
    here.write({"out/b.pyi": here.read("out/b.py"), "out/a.py": here.read("out/a.py") + "# mine\n"})
    (here.folder / "src/a.njpy").unlink()
    result = here.njc("build", "src", "-o", "out", "--check", code=1)
    assert "stale: out/a.py" in result.stderr
    assert "stale: out/b.pyi" in result.stderr


@pytest.mark.parametrize("kind", ["plain", "bom", "cr", "crlf", "shebang", "latin-1", "no blocks"])
def test_compiled_files_of_every_kind_are_known_again(here: Workplace, kind: str) -> None:
    text = GREETING
    match kind:
        case "cr" | "crlf":
            text = GREETING.replace("\n", {"cr": "\r", "crlf": "\r\n"}[kind])
        case "shebang":
            text = f"#!/usr/bin/env python3\n{GREETING}"
        case "latin-1":
            text = f"# coding: latin-1\n# caf\xe9\n{GREETING}"
        case "no blocks":
            text = "x = 1"
    source = here.folder / "gr\xfc\xdfe.njpy"
    encoding = {"bom": "utf-8-sig", "latin-1": "latin-1"}.get(kind, "utf-8")
    for content in (text, f"{text}# changed"):
        source.write_bytes(content.encode(encoding))
        assert "1 file compiled" in here.njc("build", ".").stderr
        assert "1 up to date" in here.njc("build", ".").stderr
        here.njc("show", "--line", "gr\xfc\xdfe.py:1")
    compiled = source.with_suffix(".py")
    compiled.write_bytes(compiled.read_bytes() + b"# mine\n")
    source.unlink()
    assert "edited by hand" in here.njc("build", "--clean", ".", code=2).stderr


def test_stale_files_are_reported_and_cleaned(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/old/b.njpy": GREETING, "out/mine.py": "x = 1\n"})
    here.njc("build", "src", "-o", "out")
    (here.folder / "src/old/b.njpy").unlink()
    result = here.njc("build", "src", "-o", "out")
    assert (
        "stale: out/old/b.py has no source any more; `njc build --clean` removes it"
        in result.stderr
    )
    here.njc("build", "src", "-o", "out", "--check", code=1)
    shown = here.njc("build", "--clean", "src", "-o", "out", "--check", code=1)
    assert "1 file would be removed" in shown.stderr
    assert "out/old/b.py" in here.files("out")
    for wrong in ("nosuch", "src/mail.njpy"):
        refused = here.njc("build", "--clean", wrong, "-o", "out", code=2)
        assert "is not a directory" in refused.stderr
    here.njc("build", "--clean", "src", "-o", "out")
    assert here.files("out") == ["out/a.py", "out/mine.py"]
    assert not (here.folder / "out/old").exists()
    here.njc("build", "--clean", "src", "-o", "out", "--check")


def test_clean_works_beside_sources_and_when_all_are_gone(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING})
    here.njc("build", "src")
    (here.folder / "src/a.njpy").unlink()
    (here.folder / "src/b.njpy").unlink()
    edited = here.read("src/b.py") + "# mine\n"
    here.write({"src/b.py": edited})
    assert "edited by hand" in here.njc("build", "--clean", "src", code=2).stderr
    assert here.files("src") == ["src/b.py"]
    here.njc("build", "--clean", "src", "--force")
    assert here.files("src") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build"], "nothing to compile"),
        (["build", "nowhere"], "no such file or directory: nowhere"),
        (["build", "empty"], "no .njpy file in empty"),
        (["build", "plain.py"], "plain.py is not a .njpy file"),
        (["build", "a.njpy", "-o", "plain.py"], "cannot write plain.py/a.py: "),
        (["build", "a.njpy", "-o", "/proc/out"], "cannot write /proc/out/a.py: "),
        (["build", "a.njpy", "--set", "max-effect=2"], "did you mean `max_effects`?"),
        (["build", "a.njpy", "--set", "max-effects"], "--set takes KEY=VALUE"),
        (["build", "one", "two", "-o", "out"], "would both become out/x.py"),
        (["build", "a.njpy", "-j", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_named(here: Workplace, arguments: list[str], message: str) -> None:
    here.write({"a.njpy": GREETING, "plain.py": "", "empty/readme.md": ""})
    here.write({"one/x.njpy": GREETING, "two/x.njpy": GREETING})
    before = here.files()
    assert message in here.njc(*arguments, code=2).stderr
    assert here.files() == before


def test_hidden_directories_and_virtual_environments_hold_no_sources(here: Workplace) -> None:
    here.write({"a.njpy": GREETING, ".cache/b.njpy": GREETING, "env/lib/c.njpy": GREETING})
    here.write({"env/pyvenv.cfg": ""})
    here.njc("build", ".", "-o", "out")
    assert here.files("out") == ["out/a.py"]


def test_an_executable_source_gives_an_executable_file(here: Workplace) -> None:
    here.write({"a.njpy": "#!/usr/bin/env python3\n" + GREETING})
    (here.folder / "a.njpy").chmod(0o755)
    here.njc("build", "a.njpy")
    assert (here.folder / "a.py").stat().st_mode & stat.S_IXUSR
    assert here.read("a.py").startswith("#!/usr/bin/env python3\n")
    (here.folder / "a.py").chmod(0o640)
    here.njc("build", "a.njpy")
    assert (here.folder / "a.py").stat().st_mode & 0o777 == 0o751


def test_a_source_may_vanish_while_files_are_written(here: Workplace) -> None:
    here.write({"a.njpy": GREETING})
    (here.folder / "a.njpy").chmod(0o755)
    plan = plan_build(find_units([here.folder], Project()), Project())
    (here.folder / "a.njpy").unlink()
    plan.write_changes()
    assert (here.folder / "a.py").stat().st_mode & stat.S_IXUSR
