"""The guard: what is refused, what is not, and the known ways out of in-process executors."""

from __future__ import annotations

import os

import pytest
from playing import FailedCode, Refused, message_of, play

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
    "import json\nk = json\nk.codecs",
    "import asyncio\nasyncio.subprocess.create_subprocess_exec",
    "import asyncio\nasyncio.events.os",
    "import asyncio\nawaited = asyncio.create_subprocess_exec",
    "import typing\ntyping.get_type_hints",
    "import typing\ntyping.sys.modules",
    "import uuid\nuuid.os",
    "import collections\ncollections._sys.modules",
    "import types\ntypes.FunctionType",
    "import string\nstring.Formatter().get_field('0.__class__', [1], {})",
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
    "locals()",
    "vars()",
    "help()",
    "__builtins__['eval']",
    "__loader__",
    "list(map(eval, ['1']))",
    "raise SystemExit",
    "raise KeyboardInterrupt()",
    "@eval\ndef f(): pass",
    "class A(metaclass=eval): pass",
    "class A(open('x').__class__): pass",
    # dunder walks
    "().__class__",
    "''.__class__.__mro__[1].__subclasses__()",
    "type(()).__mro__",
    "type(1).mro()",
    "object.__subclasses__()",
    "type.__base__",
    "print.__self__",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__.co_consts",
    "def f(): pass\nf.__builtins__",
    "class A:\n    def m(self): pass\nA.m.__wrapped__",
    "[].append.__self__.__reduce_ex__(2)",
    "{}.__getattribute__('__class__')",
    "f'{().__class__!r}'",
    "f'{1:{().__class__}}'",
    "'{0.__class__.__mro__}'.format(1)",
    "'{x[__globals__]}'.format_map({})",
    "match 1:\n    case object(__class__=c): c",
    "import operator\noperator.attrgetter('__class__')(1)",
    "import operator\noperator.attrgetter('real.__class__')(1)",
    "from operator import methodcaller as m, attrgetter\nattrgetter('__cl' + 'ass__')(1)",
    "import operator\noperator.methodcaller('__reduce__')(1)",
    # frames
    "(x for x in ()).gi_frame.f_back",
    "async def f(): pass\nf().cr_frame",
    "try:\n    1/0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame.f_globals",
    "try:\n    1/0\nexcept ZeroDivisionError as e:\n    e.with_traceback(None)",
]

REASONS = (
    "refused in a block",
    "cannot be imported in a block",
    "takes only literal names in a block",
    "`__builtins__` is not visible in this block",
)

AT_RUN_TIME = [
    "getattr((), '__class__')",
    "getattr((), '__cl' + 'ass__')",
    "import functools\nfunctools.reduce(getattr, ['__class__', '__base__'], ())",
    "list(map(getattr, [()], ['__class__']))",
    "def f(): pass\nsetattr(f, '__code' + '__', None)",
    "g = getattr\ng(print, '__self__')",
]

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
    "{'__class__': 'Order'}['__class__']",
    "'{0.real} {x[k]}'.format(1, x={'k': 2})",
    "try:\n    1/0\nexcept Exception as e:\n    str(e), e.args, e.__cause__",
    "class Job:\n    os = 'linux'\n    sys = 1\nJob().os, Job().sys",
    "id(1), dir([]), memoryview(b''), isinstance(1, int), super, object()",
    "open = 3\nopen",
    "import functools\n@functools.lru_cache\ndef f(x): return x\nf(1)",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_known_escapes_are_refused_before_they_run(source: str) -> None:
    message = message_of(source)
    assert any(reason in message for reason in REASONS), message


@pytest.mark.parametrize("source", AT_RUN_TIME)
def test_attribute_names_made_at_run_time_are_refused(source: str) -> None:
    with pytest.raises(FailedCode, match=r"AttributeError: `__\w+__` is refused in a block"):
        play(lambda: (), source)


@pytest.mark.parametrize("source", HARMLESS)
def test_harmless_code_runs(source: str) -> None:
    assert message_of(source) == ""


def test_what_the_prompt_names_may_be_used() -> None:
    source = "import os\nos.getcwd(), os.path.join('a', 'b'), open"
    assert play(lambda: (os, open), source)[1] == os.path.join("a", "b")


def test_messages_say_a_way_out() -> None:
    assert message_of("x = 1\nimport requests") == (
        "line 2: `requests` cannot be imported in a block; re, json, math, datetime, collections, "
        "itertools and others that only compute can, and so can what the prompt names: <requests>"
    )
    assert message_of("(1).__class__") == "line 1: `__class__` is refused in a block; use type(x)"
    assert message_of("exit(1)") == (
        "line 1: `exit` is refused in a block; end the block with done, or use the jumps that it offers"
    )


def test_the_open_policy_refuses_nothing() -> None:
    from njrt.code import Ran, Snippet, execute, prepare
    from njrt.scope import scope_of

    source = "import os\neval('1'), ().__class__, getattr(1, '__class__'), os.sep"
    snippet = prepare(source, scope_of(lambda: ()), policy="open")
    assert isinstance(snippet, Snippet)
    assert execute(snippet) == Ran((1, tuple, int, os.sep), "")


def test_a_refused_snippet_changes_nothing() -> None:
    def f():
        y = 1
        with pytest.raises(Refused):
            play(lambda: (y,), "y = 2\nimport os", writes="y")
        return y

    assert f() == 1
