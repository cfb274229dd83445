"""The variables that a block sees, as text, for listeners that want them.

    observe = StateObserver(scope).observe
    observe()     StateChange({"prices": "list[int], 2 items = [3, 4]"}, "6d0c…")
    observe()     StateChange({"total": "int = 7"}, "91aa…", "7\n"): the model's code ran in between

Not detected: a change of an object beyond the `DIGEST_CHARS` characters of it that are compared,
and what functions of the program print.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping

from njrt.block.session.call_arguments import show_arguments
from njrt.data.message_json import hash_json
from njrt.data.options import Options
from njrt.data.outcome import UserValue
from njrt.events import RunId, StateChange
from njrt.execution.scope.scope import Scope
from njrt.values.rendering.describe import describe_on_one_line, describe_variable
from njrt.values.rendering.redaction import Redactor

if typing.TYPE_CHECKING:
    from njrt.execution.contained.changes import Change, Ledger

SHOWN_CHARS = 300
"""Characters in a variable's line."""

DIGEST_CHARS = 4000
"""Characters of a variable that are compared."""

Observe = Callable[[], StateChange | None]
"""Returns the changes since the last call."""


ScopeWatcher = Callable[[RunId, Scope, bool | None], None]
"""Called with the scope of each run whose states are observed; it is usable until the run ends."""
_scope_watchers: list[ScopeWatcher] = []


def watch_scopes(watcher: ScopeWatcher) -> None:
    """Give a debugger the scopes of all runs in this process that start from now on."""
    _scope_watchers.append(watcher)


def observe_scope(run: RunId, scope: Scope, rule: bool | None) -> Observe:
    """Start observing a run's variables."""
    for watch in _scope_watchers:
        watch(run, scope, rule)
    from njrt.execution.contained.changes import Ledger

    name = scope.module.get("__name__", "")
    return StateObserver(scope, rule, Ledger(name if type(name) is str else "")).observe


def render_variables(scope: Scope, options: Options) -> dict[str, str]:
    """Return the bound variables that a block sees, each as it is shown to the model."""
    redactor = Redactor(True if options.redact is None else options.redact)
    variables = scope.list_variables()
    redactor.scan(variables.items())
    return {
        name: redactor.redact(describe_variable(name, value, options.show_chars or 1000, redactor))
        for name, value in variables.items()
    }


class StateObserver:
    """Observes one scope's variables (state: their previous form)."""

    def __init__(
        self, scope: Scope, rule: bool | None = None, ledger: Ledger | None = None
    ) -> None:
        self._scope, self._ledger = scope, ledger
        # A separate redactor, so that the secrets it finds do not change the texts for the model.
        self._redactor = Redactor(True if rule is None else rule)
        self._details: dict[str, str] = {}

    def observe(self) -> StateChange:
        """Return the changes since the last call; the first call returns everything."""
        variables = self._scope.list_variables()
        self._redactor.scan(variables.items())
        details = {
            name: self._write(describe_variable, name, value, DIGEST_CHARS)
            for name, value in variables.items()
        }
        changes: dict[str, str | None] = {
            name: self._write(describe_on_one_line, name, variables[name], SHOWN_CHARS)
            for name, detail in details.items()
            if self._details.get(name) != detail
        }
        changes |= dict.fromkeys(self._details.keys() - details.keys())
        self._details = details
        printed, self._scope.transcript.last = self._scope.transcript.last, ""
        parts = {it.path: it.write() for it in self._list_parts(variables)}
        return StateChange(
            changes,
            hash_json(details),
            self._redactor.redact(printed),
            show_arguments(parts, self._redactor),
        )

    def _list_parts(self, variables: Mapping[str, UserValue]) -> list[Change]:
        return [] if self._ledger is None else self._ledger.list_parts(variables)

    def _write(self, describe: Callable[..., str], name: str, value: UserValue, room: int) -> str:
        return self._redactor.redact(describe(name, value, room, self._redactor))
