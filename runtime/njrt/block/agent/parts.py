"""The attributes that a prompt names, such as `<order.lines>`, read as a model is shown them.

read_part(scope, "order.lines", redactor)      Bound([Line(...)])
read_part(scope, "order.secret", redactor)     Hidden(), if its class keeps it out of its `repr`
"""

from __future__ import annotations

from njrt.data.private_names import mangle
from njrt.data.records import record
from njrt.execution.scope.bindings import Absent, Bound
from njrt.execution.scope.scope import Scope
from njrt.values.introspection import is_a
from njrt.values.rendering.hidden_attributes import list_hidden_attributes
from njrt.values.rendering.one_line import find_write_function
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.writer import DoesNotFit, ValueWriter, refuses_code


@record
class Hidden:
    """An attribute that its class keeps out of its `repr`, as a secret."""


Part = Bound | Absent | Hidden


def read_part(scope: Scope, path: str, redactor: Redactor) -> Part:
    """Return the value of an attribute, unless a class on the way hides it."""
    if refuses_code.get() and not isinstance(scope.read_part(path), Bound):
        raise DoesNotFit
    parts = path.split(".")
    for length in range(1, len(parts)):
        try:
            owner = scope.read_value(".".join(parts[:length]))
            value = scope.read_value(".".join(parts[: length + 1]))
        except AttributeError:
            return Absent.UNBOUND
        if redactor.rule and not is_a(owner, type):
            hidden = list_hidden_attributes(owner, ValueWriter(find_write_function, redactor))
            if mangle(parts[length], scope.class_name) in hidden:
                return Hidden()
    return Bound(value)
