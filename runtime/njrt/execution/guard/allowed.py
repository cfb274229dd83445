"""The lists that the guard compares code with: what a block may import, call and read.

    import json             allowed
    asyncio.run(main())     refused

Listed is what is allowed, except where a module or Python has few members with effects.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping


def split_words(text: str) -> frozenset[str]:
    """Return the words in a text."""
    return frozenset(text.split())


IMPORTABLE_MODULES = split_words(
    """__future__ abc array asyncio base64 bisect calendar cmath collections colorsys contextlib
    copy csv dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq
    html itertools json math numbers operator pprint random re secrets statistics string textwrap
    time types typing typing_extensions unicodedata uuid zoneinfo"""
)
"""Modules of the standard library that only compute."""

SUBMODULES = split_words("collections.abc html.entities html.parser json.decoder json.encoder")
"""The importable submodules."""

ALLOWED_MEMBERS: Mapping[str, frozenset[str]] = {
    "asyncio": split_words(
        """ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event
        FIRST_COMPLETED FIRST_EXCEPTION Future InvalidStateError LifoQueue Lock PriorityQueue Queue
        QueueEmpty QueueFull QueueShutDown Semaphore Task TaskGroup TimeoutError all_tasks
        as_completed create_task current_task ensure_future gather iscoroutine iscoroutinefunction
        isfuture shield sleep timeout timeout_at wait wait_for"""
    )
}
"""The only allowed members of a module: asyncio's rest starts processes, servers and threads."""

REFUSED_MEMBERS: Mapping[str, frozenset[str]] = {
    "contextlib": split_words("chdir redirect_stderr redirect_stdout"),
    "time": split_words("clock_settime clock_settime_ns tzset"),
    "types": split_words("CodeType FunctionType LambdaType ModuleType"),
    "typing": split_words("ForwardRef evaluate_forward_ref get_type_hints"),
    "typing_extensions": split_words("ForwardRef evaluate_forward_ref get_type_hints"),
}
"""Members that change the process or run text as code."""

_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
) - {"GeneratorExit", "KeyboardInterrupt", "SystemExit"}

ALLOWED_BUILTINS = _EXCEPTIONS | split_words(
    """Ellipsis False None NotImplemented True __debug__ __doc__ __name__ abs aiter all anext any
    ascii bin bool bytearray bytes callable chr classmethod complex delattr dict dir divmod
    enumerate filter float format frozenset getattr hasattr hash hex id int isinstance issubclass
    iter len list locals map max memoryview min next object oct ord pow print property range repr
    reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip"""
)
"""The builtins that a block has without naming them."""

_OPERATORS = split_words("add and floordiv lshift matmul mod mul or pow rshift sub truediv xor")

SAFE_NAMES = frozenset(
    f"__{prefix}{name}__" for prefix in ("", "i", "r") for name in _OPERATORS
) | split_words(
    """__abs__ __abstractmethods__ __aenter__ __aexit__ __aiter__ __all__ __anext__ __annotations__
    __await__ __bool__ __bytes__ __call__ __cause__ __ceil__ __class__ __class_getitem__ __complex__
    __contains__ __context__ __copy__ __dataclass_fields__ __deepcopy__ __del__ __delattr__
    __delete__ __delitem__ __dict__ __dir__ __divmod__ __doc__ __enter__ __eq__ __exit__ __float__
    __floor__ __format__ __ge__ __get__ __getitem__ __getstate__ __gt__ __hash__ __index__ __init__
    __init_subclass__ __instancecheck__ __int__ __invert__ __iter__ __le__ __len__ __length_hint__
    __lt__ __match_args__ __members__ __missing__ __module__ __name__ __ne__ __neg__ __new__
    __next__ __notes__ __optional_keys__ __origin__ __pos__ __post_init__ __prepare__ __qualname__
    __rdivmod__ __repr__ __required_keys__ __reversed__ __round__ __set__ __set_name__ __setattr__
    __setitem__ __slots__ __str__ __subclasscheck__ __suppress_context__ __total__ __trunc__
    __version__ _ _asdict _field_defaults _fields _generate_next_value_ _ignore_ _make _missing_
    _name_ _order_ _replace _value_"""
)
"""The names with an underscore that are interfaces: special methods, named tuples, enums."""

INTERNAL_NAMES = split_words(
    """ag_await ag_code ag_frame cr_await cr_code cr_frame cr_origin f_back f_builtins f_code
    f_globals f_locals f_trace get_context get_coro get_loop get_stack gi_code gi_frame
    gi_yieldfrom tb_frame tb_next with_traceback"""
)
"""Names without an underscore of frames, code and tasks, which lead into the interpreter."""
