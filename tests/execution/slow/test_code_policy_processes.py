"""`policy="auto"` and "contained" on systems that can contain code, and on one that cannot; one warning a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import run_python

PROGRAM = """
import platform, sys, warnings
machine, policy = sys.argv[1:]
options = {"policy": policy} if policy else {}
if machine:
    platform.machine = lambda: machine
warnings.simplefilter("always")
import njrt
from njrt.testing import run

kept = []
model = njrt.Scripted([run("kept.append(lambda: 1)", done=True)] * 2)
with njrt.using(model=model, **options):
    for line in (1, 2):
        try:
            njrt.run("natural\\nAppend to <kept>.", lambda: (kept,), at=f"a.njpy:{line}", guarded=REASON)
        except njrt.NaturalError as error:
            print(type(error).__name__, len(model.requests))
print(len(kept))
"""
REASON = "the type of `df` has a class of another package"


@pytest.mark.parametrize(
    ("policy", "machine", "reason", "prints", "warned"),
    [
        ("auto", "vax", "", "2", "no filter of system calls for vax"),
        ("auto", "", REASON, "2", REASON),
        ("auto", "", "", "PolicyError ModelError 0", ""),
        ("contained", "vax", "", "PolicyError 0 PolicyError 0 0", ""),
        ("guarded", "", REASON, "2", ""),
        ("", "vax", "", "2", "behind a guard against accidents"),
        ("", "", "", "PolicyError ModelError 0", ""),
    ],
)
def test_where_code_runs(
    policy: str, machine: str, reason: str, prints: str, warned: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("REASON", repr(reason)))
    ran = run_python(program, machine, policy)
    if policy in ("auto", "") and not warned:
        assert ran.stdout.endswith("\n0\n"), "a function of contained code ends with it"
    else:
        assert ran.stdout.split() == prints.split()
    assert ran.stderr.count("PolicyWarning") == bool(warned)
    assert warned in ran.stderr
