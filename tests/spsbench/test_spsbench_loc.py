"""Lines of code are counted as the paper counts them, and printed beside its numbers."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from spsbench.cli import main
from spsbench.loc import Length, count_lengths, count_lines_of_code, format_length_table
from spsbench.suite import TASK_NAMES


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\n", 1),
        ('"""Docstring\n\nof a module."""\n\n\nx = 1\n', 1),
        ("# comment\nx = 1  # trailing\n\n# comment\n", 1),
        ('def f():\n    """Docstring."""\n    return 1\n', 2),
        ('class A:\n    """Docstring."""\n\n    x = 1\n', 2),
        ('def f():\n    """natural\n    Do <:x>.\n\n    Now.\n    """\n', 5),
        ('def f():\n    """naturally a docstring\n    """\n    return 1\n', 2),
        ('x = 1\n"""a string that nobody reads"""\n', 2),
        ('text = """one\n# no comment\n\ntwo"""\n', 3),
        ("f(\n    a,\n    b)\n", 1),
        (f"f({', '.join(['argument'] * 11)})\n", 1),
    ],
)
def test_lines_of_code(source: str, lines: int) -> None:
    assert count_lines_of_code(source) == lines


def test_every_program_is_counted_and_the_natural_one_is_never_longer() -> None:
    counted = count_lengths()
    assert tuple(length.name for length in counted) == TASK_NAMES
    assert all(0 < length.natural <= length.manual for length in counted)


def test_the_table_has_our_means_and_the_paper_s() -> None:
    lines = format_length_table((Length("a", 10, 30), Length("b", 20, 30))).splitlines()
    assert lines[1].split() == ["a", "10", "30", "-66.7%"]
    assert lines[3].split() == ["mean", "15.0", "30.0", "-50.0%"]
    assert lines[4].split()[-3:] == ["25.1", "42.0", "-39.6%"]


def test_the_command_prints_a_row_for_every_program() -> None:
    shown = CliRunner().invoke(main, ["loc"])
    assert shown.exit_code == 0
    assert all(name in shown.output for name in TASK_NAMES)
