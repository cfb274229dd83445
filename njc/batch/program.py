"""Whose results a batch has: a function of a program, and the settings with which it was called.

    prog.njpy:triage, with NJC_MODEL=openai/gpt-4.1      what is noted when a batch begins

Results of another program must not come into one file unnoticed. Not seen: changes of what the program imports, of files
that it reads, of a model behind its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from njc.batch.store import BatchStore
from njc.target import TargetFunction
from njrt.errors import ConfigurationError

SETTINGS = (
    "NJC_MODEL", "NJC_REPLACE_MODEL", "NJC_BASE_URL", "NJC_PROTOCOL", "NJC_MODE", "NJC_TEMPERATURE"
)  # fmt: skip
"""The environment variables on which replies depend."""


def note_program(
    store: BatchStore, target: TargetFunction, environ: Mapping[str, str], *, is_retried: bool
) -> None:
    """Note whose results the store has.

    Raises ConfigurationError if it has some of another function, or of another text of the program or other settings,
    unless the command says by `is_retried` that these are to be kept.
    """
    before = store.get_fact("target")
    if before is not None and before != target.name:
        raise ConfigurationError(
            f"{store.folder.name} has results of `{before}`; write to another file, or discard them with --fresh"
        )
    facts = {name: environ.get(name, "") for name in SETTINGS}
    if target.program.is_file():  # not inside of an archive
        digest = hashlib.sha256(target.program.read_bytes()).hexdigest()
        facts = {target.program.name: digest, **facts}
    noted = {name: store.get_fact(f"program {name}") for name in facts}
    changed = [name for name in facts if noted[name] not in (None, facts[name])]
    if changed and not is_retried and (known := store.count_known_rows()):
        raise ConfigurationError(
            f"{' and '.join(changed)} changed after {known:,} rows had been called; --retry keeps their results and "
            "goes on with what is there now, --fresh begins again"
        )
    store.put_fact("target", target.name)
    for name, value in facts.items():
        store.put_fact(f"program {name}", value)
