"""Calls of tools by the program itself, outside of blocks, in recordings.

with use_recording("bank.pay", {"order": "7"}, repeats=False) as slot:
    if not slot.was_made:
        slot.value = ...                     the call; its result or error is recorded
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from njrt.effects import Touch
from njrt.errors import CallInDoubtError, RecordingMissingError
from njrt.execution.gates import call_key
from njrt.values.effect_json import effect_to_json, format_call


@dataclass(slots=True)
class Slot:
    """A call's result (state: whether it is known)."""

    was_made: bool = False
    value: Any = None


@contextmanager
def use_recording(name: str, arguments: dict[str, Any], repeats: bool) -> Iterator[Slot]:
    """Take a call's result from the recording, or write it there; `repeats`: it is read-only.

    Raises RecordingMissingError if a replayed recording does not have the call, and
    CallInDoubtError if a crash interrupted the call, which is not made again.
    """
    from njrt.block.session.gate import read_call_result, write_call_result
    from njrt.block.session.interception import RecordedSlot
    from njrt.block.session.layered_model import find_recorder
    from njrt.block.session.settings import get_settings
    from njrt.log.recording_file import RecordedTouch
    from njrt.values.failures import failure_to_json

    recorder, is_gated = find_recorder(get_settings(), os.environ), bool(call_key())
    if recorder is None or (is_gated and recorder.records):  # the gate records its calls
        yield Slot()
        return
    effect = effect_to_json(Touch(name, arguments))
    key = format_call(effect)  # equal calls are found in order, others in any order
    place = f"MCP server {name.partition('.')[0]}"
    asked, index, found = RecordedTouch(uuid.uuid4().hex, place, key, 1, effect), None, None
    if not is_gated:
        index, found = recorder.take_call(asked, is_alone=False, repeats=repeats)
    if found is not None and found.was_made:
        yield Slot(True, read_call_result(found))
        return
    if not recorder.records:
        error = RecordingMissingError(
            f"the recording {recorder.place.name} has no call {key}, or not so often; "
            "record it again"
        )
        recorder.errors.append(error)
        raise error
    if found is not None and found.state == "begun" and not repeats:
        raise CallInDoubtError(
            f"the call {key} was interrupted by a crash, and may have been made; it is not made "
            "again. Find out whether it was made; then remove its lines from "
            f"{recorder.place.name}"
        )
    recorded = RecordedSlot(recorder, index, found or asked, recorder.record_call)
    recorded.write(state="begun")
    slot = Slot()
    try:
        yield slot
    except Exception as error:
        recorded.write(state="failed", result=failure_to_json(error))
        raise
    recorded.write(state="done", result=write_call_result(slot.value))
