"""The timeline of a run: the steps that natural blocks take, from a trace or from a program under control.

    timeline = build_timeline(read_trace(Path("trace.jsonl")))          for viewing
    controller = RunController(RunSettings(Path("mail.njpy"), recording=Path("mail.jsonl")), report)

A program stops *before* a step: a block's entry, an effect, an exit, or a line of the model's code. A change at a
stop is a fork: later steps are forgotten, and going back past the change drops it. Going back replays the recording
in a fresh process; the first step that differs is a `Diverged`.
"""
