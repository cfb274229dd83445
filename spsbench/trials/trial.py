"""The process of one trial: `python -m spsbench.trials.trial`, in a folder of its own that holds `job.json`.

    job.json  ──play──>  report.jsonl, *.trace.jsonl

Its input is a leash: it ends when whoever started the trial does, and then the trial ends too, with all that
it has started. So nothing goes on asking a model after its runner was killed.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from njrt.typed_json import from_json, to_json
from spsbench.trials.job import Job
from spsbench.trials.playing import run_trial
from spsbench.trials.report import ReportLine

JOB_FILE = "job.json"
REPORT_FILE = "report.jsonl"


def main() -> None:
    """Carry out the job of this folder."""
    _exit_with_parent()
    folder = Path.cwd()
    job = from_json((folder / JOB_FILE).read_text(encoding="utf-8"), Job)
    with (folder / REPORT_FILE).open("a", encoding="utf-8") as report:

        def write_line(line: ReportLine) -> None:
            report.write(to_json(line) + "\n")
            report.flush()

        run_trial(job, folder, write_line)


def _exit_with_parent() -> None:
    """Die when the other end of the input is closed; the program itself finds its input empty."""
    leash = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)

    def wait() -> None:
        while os.read(leash, 1):
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, name="leash", daemon=True).start()


if __name__ == "__main__":
    main()
