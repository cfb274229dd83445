"""The timeline of a program under control: the steps that its natural blocks take.

    controller = RunController(RunSettings(Path("mail.njpy"), recording=Path("mail.jsonl")), report)

A program stops *before* a step: a block's entry, an effect, an exit, or a line of the model's code.
A change at a stop is a fork: later steps are forgotten, and going back past the change drops it.
Going back replays the recording in a fresh process; the first step that differs is a `Diverged`.
"""
