"""The timeline of a run: the steps that natural blocks take, from a trace or from a program under control.

    timeline = build_timeline(read_trace(Path("trace.jsonl")))          for viewing
    timeline[3]                                                         Step(effect, "mail.njpy:12", ...)
    timeline.variables_before(Position(3))                              {"mail": "str = 'Hello'"}

    controller = RunController(RunSettings(Path("mail.njpy"), recording=Path("mail.jsonl")))

Where things are:

| module | has |
| --- | --- |
| `trace_lines` | `read_trace`, `TraceReader`: the lines of trace files |
| `steps`, `step_builder` | `Step`, `Position`, `Timeline`; `build_timeline` |
| `breakpoints` | the kinds of breakpoints, `describe_breakpoint` |
| `happenings` | `RunSettings`, `RunControlError`; what happens: `Stopped`, `Stepped`, `OutputWritten`, `InputWanted`, `Diverged`, ... |
| `controller` | `RunController` |
| `places` | `find_block_lines(file, line)`: the lines of a prompt, from the place of a step |

Steps. A step is the entry of a block (`enter`), an `effect`, the `exit`, or a `line` of the model's code. A program
is stopped *before* a step: at an entry the model has not been asked, at an effect it has not been carried out, at an
exit the block has not been left. A `Position(number, line)` names a step; entries, effects and exits have numbers from
0 and line 0; lines of code have the number of the step before them and count from 1. `Step.is_done` says whether
`changes`, `result`, `printed`, `seconds` and `digest` are known; after going back they are, unless something was
changed.

The controller. `start()` stops at the first entry. `step_into`, `step_over`, `step_out`, `run_on` and `run_to` go
forward; `step_back_into`, `step_back_over`, `step_back_out`, `run_back` and `run_to` go back; `pause`, `restart`,
`terminate`, `close`. Happenings come from `wait(seconds)`, or in another thread to the `listener`; each movement is
followed by a `Stopped` or a `ProgramEnded`. What cannot be done now raises `RunControlError` with the reason.

At a stop: `step`, `position`, `timeline`, `variables()`, `expand("self", ".folders")`, `evaluate("len(mails)")`,
`set_variable("topic", "'bills'")`, and at an effect `edit_effect({"kind": "Run", "code": "...", "done": True})`,
`reject_effect("words for the model")`, `abort_effect()`, `accept_effect()`. Such a change is a fork: the steps that
were known after it are forgotten, going back before it drops it, and going back to a later position repeats it. What
follows is asked of the model where the recording has no reply; with `is_replay_only` that is a
`RecordingMismatchError` in the program, until `go_live()`.

Going back. A live run is recorded as it goes. Going back is a replay, in a copy of the process that waits at a
checkpoint (see `checkpoints`), or else in a fresh process. Repeated steps are compared with what they were; the first
difference is a `Diverged`, and the program stops at one of the next steps. Output of repeated steps is not written again, input is given
again. What a program does to the world outside, such as to files, is done again.
"""
