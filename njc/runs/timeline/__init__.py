"""The timeline of a run: the steps that natural blocks take, from a trace or from a program under control.

    timeline = build_timeline(read_trace(Path("trace.jsonl")))          for viewing
    timeline.variables_before(Position(3))                              {"mail": "str = 'Hello'"}
    controller = RunController(RunSettings(Path("mail.njpy"), recording=Path("mail.jsonl")))

A step is the entry of a block (`enter`), an `effect`, the `exit`, or a `line` of the model's code. A program is stopped
*before* a step. A `Position(number, line)` names a step: entries, effects and exits have numbers from 0 and line 0;
lines of code have the number of the step before them and count from 1.

Each movement of a controller is followed by a `Stopped` or a `ProgramEnded`; what cannot be done now raises
`RunControlError`. A change at a stop is a fork: the steps that were known after it are forgotten, going back before it
drops it, going back to a later position repeats it. Going back is a replay of the recording, in a copy of the process
that waits at a checkpoint or else in a fresh process. Repeated steps are compared; the first difference is a `Diverged`.
Output of repeated steps is not written again, input is given again; what a program does to files is done again.
"""
