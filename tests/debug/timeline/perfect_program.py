"""A natural program of spsbench with all its cases, on a perfect model: `perfect_program.py NAME EFFECTS`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "servers"))

import njrt
from paper_model import make_perfect_model
from spsbench.interfaces import make_settings
from spsbench.suite import load_natural_program, load_script, load_task
from spsbench.task import check_case

name, effects = sys.argv[1:]
script = load_script(name)
program = load_natural_program(name)
for case in load_task(name).cases:
    in_code = "direct" if effects == "answer" else effects  # where a block asks for code
    model = make_perfect_model(script.lines[case.name], in_code)
    with njrt.using(model=model, **make_settings(effects)):
        failed = [str(result) for result in check_case(case, program) if not result.passed]
    print(case.name, failed or "ok")
    assert not failed
