"""What code under the guard may reach: lists, each for a reason, and nothing else.

    import json                  may be imported: it only computes
    open("a.txt")                may not: a builtin that reaches past the block
    x.__class__.__mro__          may not: attributes that lead from any object into the interpreter
    asyncio.run(main())          may not: of asyncio only what waits, and `run` is not among it

`guard.py` compares code with these lists before it runs, `reflection.py` while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPORTABLE_MODULES = _split_words(
    """__future__ abc array asyncio base64 bisect calendar cmath collections colorsys contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html itertools
    json math numbers operator pprint random re secrets statistics string textwrap time types typing
    typing_extensions unicodedata uuid zoneinfo"""
)
"""Modules of the standard library that only compute."""

REFUSED_BUILTINS = _split_words(
    """__build_class__ __builtins__ __import__ __loader__ __spec__ breakpoint compile copyright credits
    eval exec exit globals help input license locals open quit vars
    GeneratorExit KeyboardInterrupt SystemExit"""
)
"""Builtins that reach past the block: files, the terminal, the interpreter, the end of the program."""

REFUSED_ATTRIBUTES = _split_words(
    """__base__ __bases__ __builtins__ __class__ __closure__ __code__ __dict__ __func__ __getattribute__
    __globals__ __import__ __init_subclass__ __loader__ __mro__ __objclass__ __reduce__ __reduce_ex__
    __self__ __spec__ __subclasses__ __subclasshook__ __traceback__ __wrapped__ __self_class__
    __thisclass__ __defaults__ __kwdefaults__ __path__ __cached__ mro
    __annotate__ __args__ _evaluate
    tb_frame tb_next tb_lasti with_traceback gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin
    ag_frame ag_code ag_await f_back f_builtins f_code f_globals f_locals f_trace
    co_code co_consts co_names
    get_coro get_loop get_stack subprocess_exec subprocess_shell"""
)
"""Attributes by which one walks from any object into the interpreter, or has text run as code."""

REFUSED_BINDINGS = _split_words("__annotations__ __dataclass_fields__ __match_args__")
"""Attributes that others read as names of attributes, or as code: they may be read, and never set."""

REFUSED_MEMBERS: Mapping[str, frozenset[str]] = {
    "contextlib": _split_words("chdir"),
    "dataclasses": _split_words("make_dataclass"),
    "enum": _split_words("global_enum global_enum_repr global_str"),
    "functools": _split_words("singledispatch singledispatchmethod update_wrapper"),
    "string": _split_words("Formatter"),
    "types": _split_words("CodeType FunctionType LambdaType MethodType ModuleType FrameType"),
    "typing": _split_words("ForwardRef get_args get_type_hints"),
    "typing_extensions": _split_words(
        "ForwardRef evaluate_forward_ref get_annotations get_args get_type_hints"
    ),
    "uuid": _split_words("uuid1 getnode"),
    "zoneinfo": _split_words("reset_tzpath"),
}
"""Members of importable modules that do more than compute."""

ALLOWED_MEMBERS: Mapping[str, frozenset[str]] = {
    "asyncio": _split_words(
        """ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event
        FIRST_COMPLETED FIRST_EXCEPTION Future InvalidStateError LifoQueue Lock PriorityQueue Queue
        QueueEmpty QueueFull QueueShutDown Semaphore Task TaskGroup TimeoutError all_tasks as_completed
        create_task current_task ensure_future gather iscoroutine iscoroutinefunction isfuture shield sleep
        timeout timeout_at wait wait_for"""
    )
}
"""The members of a module of which most do more: event loops start processes, servers and threads."""

DIRECT_CALL_FUNCTIONS = _split_words("attrgetter methodcaller wraps")
"""Functions that take names of attributes: these must stand in the code, so that they can be read there."""
