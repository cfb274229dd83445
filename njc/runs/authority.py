"""The needs of blocks at run time, read from recordings and traces, for the manifest in njc.lock.

    needs = collect_needs([Path("recordings/mail.jsonl")], blocks)
        {("mail.njpy", "Sort <mail> into <:kind>."): EffectNeeds(effects={"Run"}, attributes={"append"})}
    widen_authority(lock, needs)         the lock with these needs allowed

A trace has every effect; refused effects do not count. A recording has replies: their effects are read again, including
effects that the runtime refused, and only conversations of blocks of the given sources count. Rejected and edited
effects count as the interceptors decided. Not detected: questions, and code of more than 20,000 characters, which a trace
cuts.
"""

from __future__ import annotations

import ast
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from njc.frontend.blocks import NaturalBlock, find_blocks
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.parse import parse
from njc.project.build import read_source
from njc.project.units import Unit, explaining_failure
from njc.static.lock import StaticLock
from njc.trace_lines import BeganLine, PerformedLine, read_trace
from njrt.agent.answer import parse_answer, unfence
from njrt.agent.text_protocol import parse_text_calls, parse_text_effects
from njrt.agent.tools import OPERATIONS, parse_tool_call
from njrt.block import extract_instruction
from njrt.dataclass_json import InvalidJsonError
from njrt.decisions import Accept, Edit, InterceptorDecision
from njrt.effect_json import decision_from_json, effect_from_json
from njrt.effects import BindOutputs, Effect, Perform, Refusal
from njrt.message_json import reply_from_json
from njrt.messages import Reply, ToolCall
from njrt.options import EffectSet
from njrt.persistence.recording_file import read_recording
from njrt.persistence.recording_place import RecordingFile
from njrt.production.approval.manifest import BlockKey, find_block_key, make_authority
from njrt.production.approval.needs import EffectNeeds, find_needs

Needs = Mapping[BlockKey, EffectNeeds]


KnownBlocks = Mapping[BlockKey, bool]
"""Maps each block to whether it has an interface."""


def find_block_keys(units: Sequence[Unit]) -> KnownBlocks:
    """Return the blocks of some sources with a known instruction, that is, without f-strings."""
    keys: dict[BlockKey, bool] = {}
    for unit in units:
        module = parse(read_source(unit))
        if isinstance(module, Diagnostic):
            continue
        for block in find_blocks(module):
            if isinstance(block, NaturalBlock) and not block.is_fstring:
                key = unit.path, extract_instruction(ast.literal_eval(block.literal))
                keys[key] = block.interface is not None
    return keys


def collect_needs(files: Iterable[Path], blocks: KnownBlocks) -> Needs:
    """Return the needs of the blocks in these recordings and traces."""
    needs: defaultdict[BlockKey, EffectNeeds] = defaultdict(EffectNeeds)
    for file in files:
        for key, effect in read_effects(file, blocks):
            try:
                needs[key] |= find_needs(effect)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # it was refused
    return needs


def read_effects(file: Path, blocks: KnownBlocks) -> Iterator[tuple[BlockKey, Effect]]:
    """Return the effects in a recording or a trace, with their blocks."""
    with explaining_failure(f"read {file}"), open(file, "rb") as lines:
        is_trace = lines.readline().removeprefix(BOM_UTF8).startswith(b'{"event": ')
    return read_trace_effects(file) if is_trace else read_recording_effects(file, blocks)


def read_trace_effects(file: Path) -> Iterator[tuple[BlockKey, Effect]]:
    """Yield the performed effects in a trace."""
    began: dict[str, BeganLine] = {}
    for line in read_trace(file):
        if isinstance(line, BeganLine):
            began[line.run] = line
        elif isinstance(line, PerformedLine) and line.kind != "refusal" and line.run in began:
            run = began[line.run]
            try:
                requested = effect_from_json(line.effect)
                made = [InterceptorDecision("", decision_from_json(one)) for one in line.decisions]
            except InvalidJsonError:
                continue
            if (effect := _find_decided_effect(requested, made)) is not None:
                yield find_block_key(run.place, "\n".join(run.instruction), effect), effect


def read_recording_effects(file: Path, blocks: KnownBlocks) -> Iterator[tuple[BlockKey, Effect]]:
    """Yield the effects that the replies of a recording request."""
    recording = read_recording(RecordingFile(file))
    decided = {(made.key, made.number): made for made in recording.decisions}
    openings: dict[str, tuple[BlockKey, list[str]]] = {}
    for entry in recording.entries:
        if entry.turn == 1:
            text = "\n".join(line for message in entry.shown for line in message.get("user", ()))
            openings.pop(entry.place, None)
            if (found := find_opening_block(entry.place, text, blocks)) is not None:
                openings[entry.place] = found, [text]
        if entry.place not in openings:
            continue
        key, shown = openings[entry.place]
        reply = reply_from_json(entry.reply, entry.model)
        for number, requested in enumerate(read_reply_effects(reply, shown, blocks[key]), start=1):
            recorded = decided.get((entry.key, number))
            effect: Effect | None = requested
            if recorded is not None:
                is_open = recorded.is_open
                effect = None if is_open else _find_decided_effect(requested, recorded.decisions)
            if effect is not None:
                yield key, effect
        for touch in recording.touches:
            if touch.key == entry.key and touch.state != "rejected":
                yield key, effect_from_json(touch.effect)


def find_opening_block(place: str, text: str, blocks: KnownBlocks) -> BlockKey | None:
    """Return the block that opens with this message."""
    file = place.rpartition(":")[0]
    fitting = [
        key
        for key in blocks
        if key[0] == file and (text == key[1] or text.startswith(f"{key[1]}\n---"))
    ]
    return max(fitting, key=lambda key: len(key[1]), default=None)


def read_reply_effects(
    reply: Reply, shown: Sequence[str], has_interface: bool = False
) -> tuple[Effect, ...]:
    """Return the effects in a reply, whatever its effect set."""
    if has_interface:
        calls = reply.message.calls or parse_text_calls(unfence(reply.message.text))
        return tuple(
            Perform(call.name, call.arguments or {}) for call in calls if isinstance(call, ToolCall)
        )
    if reply.message.calls:
        return _keep_effects(
            parse_tool_call(call, effects)
            for call in reply.message.calls
            for effects in _list_sets_with(call.name)[:1]
        )
    answered = parse_answer(reply)
    is_call = any(
        isinstance(effect, BindOutputs) and effect.values.keys() == {"name", "arguments"}
        for effect in answered
    )
    if answered and not is_call and not any(isinstance(effect, Refusal) for effect in answered):
        return _keep_effects(answered)
    sets: tuple[EffectSet, ...] = get_args(EffectSet)
    for effects in sorted(sets, key=lambda name: name != "direct"):
        read = parse_text_effects(reply.message.text, effects, shown) if OPERATIONS[effects] else ()
        if read and not any(isinstance(effect, Refusal) for effect in read):
            return _keep_effects(read)
    return ()


def _list_sets_with(tool: str) -> list[EffectSet]:
    return [
        effects
        for effects, operations in OPERATIONS.items()
        if any(operation.name == tool for operation in operations)
    ]


def _keep_effects(read: Iterable[Effect | Refusal]) -> tuple[Effect, ...]:
    return tuple(effect for effect in read if not isinstance(effect, Refusal))


def _find_decided_effect(requested: Effect, made: Sequence[InterceptorDecision]) -> Effect | None:
    """Return the effect performed under these decisions; None if it was not performed."""
    for decision in (one.decision for one in made):
        match decision:
            case Edit(effect):
                requested = effect
            case Accept():
                continue
            case _:
                return None
    return requested


def widen_authority(lock: StaticLock, needs: Needs) -> StaticLock:
    """Return the lock, extended to allow these needs."""
    allowed = {key: section.allowed for key, section in lock.authority.items()}
    wider = {key: allowed.get(key, EffectNeeds()) | needed for key, needed in needs.items()}
    sections = {key: make_authority(key, needed) for key, needed in wider.items()}
    return replace(lock, authority={**lock.authority, **sections})


def remove_stale_authority(
    lock: StaticLock, units: Sequence[Unit], blocks: KnownBlocks
) -> StaticLock:
    """Return the lock without the sections of blocks that no longer exist in these sources."""
    paths = {unit.path for unit in units}
    kept = {
        key: section
        for key, section in lock.authority.items()
        if key[0] not in paths or not key[1] or key in blocks
    }
    return replace(lock, authority=kept)
