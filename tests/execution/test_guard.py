"""The guard: what is refused before code runs, what is refused while it runs, and the messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from playing import FailedCode, Refused, message_of, play, ready

from njrt.execution.execute import Ran, execute
from njrt.execution.scope.opening import make_scope

ESCAPES = [
    # imports
    "import os",
    "import os as o",
    "import subprocess, json",
    "from os import system",
    "from os.path import join",
    "from . import sibling",
    "def f():\n    import socket\nf()",
    "import ctypes",
    "import pickle",
    "import importlib",
    "import builtins",
    "import sys",
    "import inspect, gc",
    "from json import codecs",
    "from random import _os",
    "from asyncio import create_subprocess_shell",
    "from asyncio.subprocess import create_subprocess_exec",
    # modules behind modules
    "import random\nrandom._os.system('true')",
    "import json as j\nj.codecs.open('x')",
    "import re\nre.enum.sys",
    "import asyncio\nasyncio.subprocess.create_subprocess_exec",
    "import asyncio\nasyncio.events.os",
    "import asyncio\nawaited = asyncio.create_subprocess_exec",
    "import typing\ntyping.get_type_hints",
    "import typing\ntyping.sys.modules",
    "import uuid\nuuid.os",
    "import collections\ncollections._sys.modules",
    "import types\ntypes.FunctionType",
    # builtins
    "exit()",
    "quit()",
    "open('/etc/passwd')",
    "input()",
    "eval('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "__import__('os')",
    "breakpoint()",
    "globals()",
    "help()",
    "__builtins__['eval']",
    "__loader__",
    "list(map(eval, ['1']))",
    "raise SystemExit",
    "raise KeyboardInterrupt()",
    "@eval\ndef f(): pass",
    "class A(metaclass=eval): pass",
    "class A(open('x').__reduce__): pass",
    # dunder walks
    "().__reduce__",
    "''.__class__.__mro__[1].__subclasses__()",
    "class A: pass\nA().__class__ = int",
    "''.__reduce__.__mro__[1].__subclasses__()",
    "type(()).__mro__",
    "object.__subclasses__()",
    "type.__base__",
    "print.__self__",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__.co_consts",
    "def f(): pass\nf.__builtins__",
    "class A:\n    def m(self): pass\nA.m.__wrapped__",
    "[].append.__self__.__reduce_ex__(2)",
    "{}.__getattribute__('__reduce__')",
    "f'{().__reduce__!r}'",
    "f'{1:{().__reduce__}}'",
    "'{0.__reduce__.__mro__}'.format(1)",
    "'{x.__globals__[a].b:>{0}}'.format(1)",
    "'{0.real._price}'.format(1)",
    "match 1:\n    case object(_price=c): c",
    "match 1:\n    case object(__reduce__=c): c",
    # modules as values
    "import random\n[random][0]._os",
    "import random\ngetattr(random, '_os')",
    "import random\n(lambda m=random: m._os)()",
    "import random, json\na, b = random, json\na._os",
    "import random\nfor m in (random,): m._os",
    "import random\nmatch random:\n    case m: m._os",
    "import random\ndef f(): return random\nf()._os",
    "import asyncio\n[asyncio.tasks]",
    "class A:\n    import random as m\nA.m._os",
    "from json.tool import main",
    "import contextlib\ncontextlib.chdir('/')",
    # internal attributes
    "import asyncio\nq = asyncio.Queue()\nq._loop",
    "[int][0]._price",
    "import json\njson.JSONEncoder.default = print",
    "import random\ndel random.choice",
    # texts as code
    "import typing\ntyping.Optional['eval'].__args__[0]",
    "import typing\ntyping.ForwardRef('eval')",
    # the event loop
    "import asyncio\nasyncio.get_event_loop_policy().new_event_loop()",
    "import asyncio\nasyncio.SelectorEventLoop()",
    "import asyncio\nasyncio.current_task().get_loop()",
    "import asyncio\nasyncio.current_task().get_stack()",
    "import asyncio\nasyncio.to_thread(print)",
    # other spellings
    "().__ｒeduce__",
    "ｅval('1')",
    # frames
    "(x for x in ()).gi_frame.f_back",
    "async def f(): pass\nf().cr_frame",
    "try:\n    1/0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame.f_globals",
    "try:\n    1/0\nexcept ZeroDivisionError as e:\n    e.with_traceback(None)",
]

if sys.version_info >= (3, 12):
    ESCAPES += [
        "type X = eval('1')\nX.__value__",
        "type X = ().__reduce__",
        "def f[T: eval](x): pass",
        "class A[T: ().__reduce__]: pass",
        "f'{'{0.__reduce__}'.format(1)}'",
        "import uuid\nuuid.main()",
    ]
if sys.version_info >= (3, 13):
    ESCAPES += [
        "def f[T = eval](x): pass",
        "type X[T = ().__reduce__] = T",
        "(x for x in ()).gi_frame.f_locals",
        "import random\nrandom.main()",
        "import asyncio\nasyncio.EventLoop()",
    ]

REASONS = (
    "refused in a block",
    "cannot be imported in a block",
    "a block cannot change the module",
    "`__builtins__` is not visible in this block",
)

AT_RUN_TIME = [
    "getattr((), '__reduce__')",
    "class A: pass\nsetattr(A(), '__class__', A)",
    "getattr((), '__re' + 'duce__')",
    "import functools\nfunctools.reduce(getattr, ['__reduce__', '__base__'], ())",
    "list(map(getattr, [()], ['__reduce__']))",
    "def f(): pass\nsetattr(f, '__code' + '__', None)",
    "g = getattr\ng(print, '__self__')",
    "class S(str):\n    def __hash__(self): return 0\n    def __eq__(self, o): return False\ngetattr((), S('__reduce__'))",
    "import random\ngetattr(random, '_os')",
    "import json\nsetattr(json, 'loads', None)",
    "import json\ndelattr(json, 'loads')",
]

PASSING = {
    "a module as a value": "import json\n[json][0].codecs.open",
    "a name put together in a template": "('{0.' + '__reduce__}').format(1)",
    "an operator that takes a name": "import operator\noperator.attrgetter('__reduce__')(1)",
    "a function that the program stored": "tools.system('exit 0')",
}
"""What the guard does not see; SECURITY.md says so."""

HARMLESS = [
    "import re, json, math, datetime, collections.abc, itertools\njson.dumps(re.split(',', 'a,b'))",
    "import asyncio\nasyncio.sleep, asyncio.gather, asyncio.TimeoutError",
    "from collections import defaultdict, Counter\nCounter('aa')",
    "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\ndataclasses.replace(P(), x=2)",
    "import operator\nsorted([{'a': 1}], key=operator.itemgetter('a'))\noperator.attrgetter('real', 'imag')(1)",
    "class A:\n    def __init__(self, x): self.x = x\n    def __len__(self): return 1\n    def __eq__(self, o): return True\nlen(A(1))",
    "class A(Exception):\n    def __init__(self, x): super().__init__(x)\nA(1)",
    "type(1).__name__, int.__doc__, len.__name__, type(1).__qualname__",
    "getattr([], 'append'), getattr([], 'missing', 3), hasattr([], 'append')",
    "class T: pass\nt = T()\nsetattr(t, 'x', 1)\ndelattr(t, 'x')",
    "{'__reduce__': 'Order'}['__reduce__']",
    "'{0.real} {x[k]}'.format(1, x={'k': 2})",
    "t = '{} {a}'\nt.format(1, a=2), str.format(t, 1, a=2), list(map('{:>5}'.format, [1])), t.format_map",
    "import datetime\ndatetime.datetime(2020, 1, 1).strftime('%d'), format(3.5, '.2f')",
    "class R:\n    def format(self, x): return x\nR().format(3), getattr(R(), 'format')(3)",
    "import json as j, datetime as dt\nk = j\nk.dumps(1), dt.date.today()",
    "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g\n@d\ndef h(x): return x\nh(1)",
    "import collections.abc, asyncio\ncollections.abc.Mapping, asyncio.Queue, asyncio.create_task",
    "class Node:\n    obj = 3\nNode().obj",
    "def f(x: int): pass\nf.__annotations__",
    "try:\n    1/0\nexcept Exception as e:\n    str(e), e.args, e.__cause__",
    "class Job:\n    os = 'linux'\n    sys = 1\nJob().os, Job().sys",
    "id(1), dir([]), memoryview(b''), isinstance(1, int), super, object()",
    "open = 3\nopen",
    "(1).__class__.__name__, getattr([], '__class__'), '{0.__class__}'.format(1)",
    "match 1:\n    case object(__class__=kind): kind",
    "x = 1\nvars()['x'], 'x' in locals()",
    "import functools\n@functools.lru_cache\ndef f(x): return x\nf(1)",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_known_escapes_are_refused_before_they_run(source: str) -> None:
    message = message_of(source)
    assert any(reason in message for reason in REASONS), message


@pytest.mark.parametrize("source", AT_RUN_TIME)
def test_attribute_names_made_at_run_time_are_refused(source: str) -> None:
    with pytest.raises(FailedCode, match=r"AttributeError: `\w+` is refused in a block"):
        play(lambda: (), source)


@pytest.mark.parametrize("source", HARMLESS)
def test_harmless_code_runs(source: str) -> None:
    assert message_of(source) == ""


def test_messages_say_a_way_out() -> None:
    assert message_of("x = 1\nimport requests") == (
        "line 2: `requests` cannot be imported in a block; re, json, math, datetime, collections, "
        "itertools and others that only compute can, and so can what the prompt names: <requests>"
    )
    assert message_of("globals()") == (
        "line 1: `globals` is refused in a block; locals() gives the variables of the block"
    )
    assert message_of("exit(1)") == (
        "line 1: `exit` is refused in a block; end the block with done, or use the jumps that it offers"
    )


def test_the_open_policy_refuses_nothing() -> None:
    source = "import os\neval('1'), ().__class__, getattr(1, '__class__'), os.sep"
    snippet = ready(source, make_scope(lambda: ()), policy="open")
    assert execute(snippet) == Ran((1, tuple, int, os.sep), "")


def test_a_refused_snippet_changes_nothing() -> None:
    def f():
        y = 1
        with pytest.raises(Refused):
            play(lambda: (y,), "y = 2\nimport os", writes="y")
        return y

    assert f() == 1


@pytest.mark.parametrize("source", PASSING.values(), ids=PASSING)
def test_values_are_not_looked_at(source: str) -> None:
    tools = SimpleNamespace(system=os.system)
    assert message_of(source, lambda: (tools,)) == ""


def test_attributes_with_an_underscore_of_what_the_prompt_names_may_be_used() -> None:
    order = SimpleNamespace(_price=2, tax=SimpleNamespace(_rate=3))
    source = "order._price += 1\norder._price * order.tax._rate"
    assert play(lambda: (order,), source) == 9
    assert "`_price` is refused" in message_of("[order][0]._price", lambda: (order,))


def test_a_later_piece_of_code_may_use_what_an_earlier_one_made() -> None:
    earlier = "import json\nclass A: _x = 1\na = A()"
    assert play(lambda: (), earlier, "a._x, json.dumps([1])") == (1, "[1]")
    with pytest.raises(Refused, match=r"`json\.codecs` is refused"):
        play(lambda: (), earlier, "json.codecs")


def test_the_program_and_what_the_prompt_names_may_have_effects(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def save(text: str) -> None:
        path.write_text(text)

    def start() -> int:
        return subprocess.run(["true"], check=True).returncode

    assert play(lambda: (save, path), "save('a')\npath.read_text()") == "a"
    assert play(lambda: (path,), "path.write_text('bc'), path.unlink()") == (2, None)
    assert play(lambda: (start,), "start()") == 0
    assert play(lambda: (open, path), "with open(path, 'w') as f: f.write('d')\npath.exists()")
    assert play(lambda: (os, path), "import os\nos.remove(path)\nos.system('true')") == 0
