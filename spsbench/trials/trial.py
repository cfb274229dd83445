"""The process of one trial: `python -m spsbench.trials.trial`, in a separate folder.

    {"job": "{...}"}   ──run_trial──>   {"line": "{...}"} for each line of the report; *.trace.jsonl in the folder

It ends when the process that started it does, so that it does not continue asking a model.
"""

from __future__ import annotations

from pathlib import Path

from njc.worker import open_channel
from njrt.typed_json import from_json, to_json
from spsbench.trials.playing import Job, run_trial


def main() -> None:
    """Run the job that the parent sends."""
    channel = open_channel()
    job: Job = from_json(channel.receive()["job"], Job)
    run_trial(job, Path.cwd(), lambda line: channel.send({"line": to_json(line)}))


if __name__ == "__main__":
    main()
