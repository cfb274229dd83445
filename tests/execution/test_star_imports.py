"""`import *` in a block's code binds what it binds in a module that Python runs."""

# The variables that only snippets read look unused to ruff.

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playing import message_of, play

VALUES = {
    "typing": "List[int], Optional[str]",
    "math": "sqrt(2), pi, pow(2, 3), floor(2.5)",
    "collections": "Counter('aab'), deque([1])",
    "collections.abc": "issubclass(list, Sequence)",
    "itertools": "list(chain([1], [2])), next(count(3))",
    "datetime": "timedelta(days=1), date(2026, 1, 2)",
    "re": "findall('a', 'banana'), IGNORECASE",
    "json": "dumps([1]), loads('2')",
    "dataclasses": "is_dataclass(int)",
    "string": "ascii_lowercase, digits",
    "statistics": "mean([1, 3])",
    "functools": "reduce(max, [1, 3, 2])",
    "decimal": "Decimal('1.5') + 1",
}
"""An expression of names of each module; `pow` is a builtin, too."""

FORMS = (
    "from {module} import *\n{value},",
    "from {module} import *; result = {value},\nresult",
    "'ü'; from {module} import \\\n    *\n[({value},) for _ in range(2)]",
    "if True:\n    from {module} import *\nelse:\n    pass\n[*({value},)]",
    "try:\n    from {module} import *\nfinally:\n    def read():\n        return {value},\nread()",
    "from typing import *\nfrom {module} import *\nnames: List[int] = []\n({value},)",
)


@pytest.mark.parametrize(("module", "form"), [*itertools.product(VALUES, FORMS)])
def test_names_are_those_of_python(module: str, form: str) -> None:
    *lines, value = form.format(module=module, value=VALUES[module]).splitlines()
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    assert play(lambda: (), "\n".join([*lines, value])) == eval(value, namespace)


def test_what_the_prompt_names_keeps_its_value() -> None:
    pi, gcd = 3, None
    assert play(lambda: (pi,), "from math import *\npi, e > 2") == (3, True)
    assert play(lambda: (pi, gcd), "from math import *\ngcd = gcd\npi", writes="gcd") == 3


def test_later_code_reads_what_earlier_code_imported() -> None:
    assert play(lambda: (), "from math import *\nx = floor(2.5)", "floor(x + 0.5)") == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from math import *\nread()", "line 2: `read` is not visible"),
        ("from math import *\nimport_module", "line 2: `import_module` is not visible"),
        ("from re import *\nsys", "line 2: `sys` is not visible"),
        ("from typing import *\n_Final", "line 2: `_Final` is not visible"),
        ("x = 1\n\nfrom typing import (\n    *)", "syntax error, line 4"),
        ("from math import *\n\n\n1 / 0", "in your code, line 4"),
        ("class C:\n    from math import *", "line 2: `import *` is not possible"),
        ("from os import *\ngetcwd()", "line 1: `import *` is not possible"),
    ],
)
def test_all_else_is_refused_at_its_line(source: str, message: str) -> None:
    assert message in message_of(source)
