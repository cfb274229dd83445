"""The secrets in the variables of a block, redacted in what a model is shown.

redact_result(Answer("the key is sk-123"), scope, redactor)     Answer("the key is <redacted>")
"""

from __future__ import annotations

from njrt.data.records import replace
from njrt.effects import Answer, EffectResult, Refusal
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.values.rendering.redaction import Redactor


def find_secrets(scope: Scope, redactor: Redactor) -> None:
    """Look for secrets in the current values of the block's variables."""
    names = dict.fromkeys((*scope.names, *scope.scratch))
    found = ((name, scope.lookup(name)) for name in names)
    redactor.scan((name, held.value) for name, held in found if isinstance(held, Bound))


def redact_secrets(scope: Scope, redactor: Redactor, text: str) -> str:
    """Redact a text, including the secrets of the block's variables."""
    find_secrets(scope, redactor)
    return redactor.redact(text)


def redact_result(result: Answer | Refusal, scope: Scope, redactor: Redactor) -> EffectResult:
    """Redact a result's text, including secrets in the variables that were printed or raised."""
    find_secrets(scope, redactor)
    if isinstance(result, Answer):
        return replace(result, text=redactor.redact(result.text))
    restart = redactor.redact(result.restart) if result.restart else ""
    return replace(result, message=redactor.redact(result.message), restart=restart)
