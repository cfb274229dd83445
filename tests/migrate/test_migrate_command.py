"""`njc migrate`: what it writes, what it leaves alone, what it exits with."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from njc.commands import njc as njc_command

NEW = '''\
def double(x):
    """natural
    Put twice <x> into <:y>.
    """
    return y
'''


def njc(*arguments: str) -> Result:
    return CliRunner().invoke(njc_command, ["migrate", *arguments], prog_name="njc")


def sources(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.njpy"))


def test_programs_become_natural_code_beside_the_old_files(folder: Path) -> None:
    result = njc("app")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        "app/deep/again.py -> app/deep/again.njpy",
        "app/double.py -> app/double.njpy",
        "2 files migrated",
        "the old files are kept; remove them before you build in place",
    ]
    assert sources(folder) == ["app/deep/again.njpy", "app/double.njpy"]
    assert (folder / "app/double.njpy").read_text() == NEW
    assert (folder / "app/double.py").exists()


def test_they_may_go_elsewhere(folder: Path) -> None:
    assert njc("app", "-o", "new").exit_code == 0
    assert sources(folder) == ["new/deep/again.njpy", "new/double.njpy"]


def test_nothing_is_written_over_unless_asked(folder: Path) -> None:
    (folder / "app/double.njpy").write_text("mine")
    result = njc("app")
    assert result.exit_code == 2
    assert "app/double.njpy exists; overwrite it with --force" in result.stderr
    assert sources(folder) == ["app/double.njpy"]
    assert njc("app", "--force").exit_code == 0
    assert (folder / "app/double.njpy").read_text() == NEW


def test_two_programs_do_not_become_one_file(folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b/double.py").write_text((folder / "app/double.py").read_text())
    result = njc("app/double.py", "b/double.py", "-o", "new")
    assert result.exit_code == 2
    assert "app/double.py and b/double.py would both become new/double.njpy" in result.stderr
    assert sources(folder) == []
    assert njc("app/double.py", "app/double.py").exit_code == 0, "the same one twice"


def test_a_link_to_nowhere_is_not_written_over(folder: Path) -> None:
    link = folder / "app/double.njpy"
    link.symlink_to("nowhere")
    assert njc("app/double.py").exit_code == 2
    assert link.is_symlink()


def test_a_program_without_natural_code_is_left_alone(folder: Path) -> None:
    (folder / "app/settings.py").write_text("import nightjarpy as nj\n\nFAST = nj.DEFAULT_CONFIG\n")
    (folder / "app/notes.py").write_text("# as in nightjarpy\n")
    result = njc("app")
    assert result.exit_code == 1
    assert "app/settings.py:3: todo: `nj.DEFAULT_CONFIG` is nightjarpy's" in result.stderr
    assert "app/settings.py has no natural code and is not changed" in result.stderr
    assert "notes.py" not in result.stderr
    assert sources(folder) == ["app/deep/again.njpy", "app/double.njpy"]


def test_check_and_diff_write_nothing(folder: Path) -> None:
    assert njc("app", "--check").exit_code == 1
    assert njc("app/plain.py", "--check").exit_code == 0
    result = njc("app/double.py", "--diff")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:6] == [
        "--- a/app/double.py",
        "+++ b/app/double.njpy",
        "@@ -1,7 +1,3 @@",
        "-import nightjarpy as nj",
        "-",
        "-",
    ]
    assert sources(folder) == []


def test_what_is_left_to_do_is_told_with_its_place(folder: Path) -> None:
    old = (folder / "app/double.py").read_text() + "\nprint(nj.NJ_TELEMETRY)\n"
    (folder / "app/double.py").write_text(old)
    result = njc("app/double.py")
    assert result.exit_code == 1
    assert "app/double.njpy:10: todo: `nj.NJ_TELEMETRY` is nightjarpy's; " in result.stderr
    assert sources(folder) == ["app/double.njpy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no such file or directory: nowhere"),
        (["app/notes.txt"], "app/notes.txt is not a .py file; only those are migrated"),
        ([], "Missing argument 'SRC...'"),
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "app/notes.txt").write_text("")
    result = njc(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert sources(folder) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"import nightjarpy\ndef f(:\n", "app/a.py:2: todo: not Python: "),
        (b"import nightjarpy\n# \xff\n", "app/a.py:2: todo: "),
        (b"# coding: nothing\nimport nightjarpy\n", "app/a.py:1: todo: "),
        (b"import nightjarpy\n# \0\n", "app/a.py:2: todo: not Python: a null character"),
        # LibCST would crash on these, in C or after minutes.
        (
            b"import nightjarpy\nx = " + b"(" * 3000 + b"1" + b")" * 3000,
            "app/a.py:2: todo: not Python: too many nested",
        ),
        (
            b"import nightjarpy\nx = 1" + b" + 1" * 20_000,
            "app/a.py:1: todo: not Python: maximum recursion",
        ),
        (
            b"import nightjarpy\nx = " + b"[" * 150 + b"]" * 150,
            "app/a.py:1: todo: an expression is nested too deeply",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_migrated(
    folder: Path, data: bytes, message: str
) -> None:
    (folder / "app/a.py").write_bytes(data)
    alone = njc("app/a.py")
    assert (alone.exit_code, sources(folder)) == (1, [])
    assert message in alone.stderr
    result = njc("app")
    assert result.exit_code == 1
    assert message in result.stderr
    assert sources(folder) == ["app/deep/again.njpy", "app/double.njpy"]


def test_a_migrated_program_builds(folder: Path) -> None:
    assert njc("app", "-o", "src").exit_code == 0
    built = CliRunner().invoke(njc_command, ["build", "src", "-o", "out"])
    assert built.exit_code == 0, built.stderr
    assert (folder / "out/double.py").exists()
