"""The recorder that a `with njrt.using(record=...)` or NJC_RECORD asks for.

using(record="recordings/triage.jsonl")             a `Recorder` for this `with`
NJC_RECORD=none:recordings/triage.jsonl             one for the whole process
NJC_RECORD_TO=FOLDER                                recordings go on in copies below this folder
NJC_DRIFT=FILE                                      requests that are not in a recording are noted there
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from njrt.errors import ConfigurationError

if TYPE_CHECKING:
    from njrt.persistence.recorder import Recorder, RecordMode


def make_recorder(
    record: str | Path | Recorder | None, mode: RecordMode, store: str | None
) -> Recorder | None:
    """Return the given recorder, or a new one for a path, or for a name in the store of a URL."""
    if record is None:
        return None
    from njrt.persistence.recorder import Recorder

    return record if isinstance(record, Recorder) else open_recorder(record, mode, store)


def open_recorder(path: str | Path, mode: RecordMode, store: str | None = None) -> Recorder:
    """A recorder for a path; NJC_RECORD_TO has it go on in a copy below another folder, NJC_DRIFT note mismatches."""
    from njrt.persistence.recorder import Recorder
    from njrt.persistence.recording_place import name_copy

    if folder := os.environ.get("NJC_RECORD_TO"):
        return Recorder(Path(folder) / name_copy(str(path)), "new")
    return Recorder(path, mode, store=store, drift=os.environ.get("NJC_DRIFT") or None)


@lru_cache(maxsize=64)
def get_environment_recorder(text: str) -> Recorder:
    """Return the recorder that `NJC_RECORD=MODE[:PATH]` asks for; one for the whole process."""
    from njrt.persistence.recorder import RecordMode

    mode, _, path = text.partition(":")
    if mode not in get_args(RecordMode):
        raise ConfigurationError(
            "NJC_RECORD must be off, MODE or MODE:PATH, "
            f"with MODE one of {', '.join(get_args(RecordMode))}, not {text!r}"
        )
    return open_recorder(path or make_default_recording_path(), mode)  # type: ignore[arg-type]


def make_default_recording_path() -> str:
    """Return the recording of a program if no path is given: `recordings/PROGRAM.jsonl`."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) or "program"
    return str(Path("recordings") / f"{Path(program).stem}.jsonl")
