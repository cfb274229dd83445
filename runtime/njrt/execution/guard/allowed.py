"""The lists that the guard compares code with.

    import json                  allowed: a module that only computes
    open("a.txt")                refused: a builtin with effects outside the block
    x.__class__.__mro__          refused: attributes that lead from any object into the interpreter
    asyncio.run(main())          refused: only the parts of asyncio that wait are allowed

`check.py` uses the lists before the code runs; `runtime.py`, `module_proxies.py` and `effects.py` use them while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping


def split_words(text: str) -> frozenset[str]:
    """Return the words in a text."""
    return frozenset(text.split())


IMPORTABLE_MODULES = split_words(
    """__future__ abc array asyncio base64 bisect calendar cmath collections colorsys contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html itertools
    json math numbers operator pprint random re secrets statistics string textwrap time types typing
    typing_extensions unicodedata uuid zoneinfo"""
)
"""Modules of the standard library that only compute."""

REFUSED_BUILTINS = split_words(
    """__build_class__ __builtins__ __import__ __loader__ __spec__ breakpoint compile copyright credits
    eval exec exit globals help input license open quit
    GeneratorExit KeyboardInterrupt SystemExit"""
)
"""Builtins for files, the terminal, the interpreter and ending the program."""

REFUSED_ATTRIBUTES = split_words(
    """__base__ __bases__ __builtins__ __closure__ __code__ __func__ __getattribute__
    __globals__ __import__ __loader__ __mro__ __objclass__ __reduce__ __reduce_ex__
    __self__ __spec__ __subclasses__ __subclasshook__ __traceback__ __wrapped__ __self_class__
    __thisclass__ __defaults__ __kwdefaults__ __path__ __cached__ mro
    __annotate__ __args__ _evaluate
    tb_frame tb_next tb_lasti with_traceback gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin
    ag_frame ag_code ag_await f_back f_builtins f_code f_globals f_locals f_trace
    co_code co_consts co_names
    get_context get_coro get_loop get_stack subprocess_exec subprocess_shell"""
)
"""Attributes that lead from any object into the interpreter, or that evaluate text as code."""

FORMAT_METHODS = split_words("format format_map")
"""String methods that read the attributes named in the string."""

LOOP_METHODS = split_words(
    """add_reader add_signal_handler add_writer connect_accepted_socket connect_read_pipe connect_write_pipe
    create_connection create_datagram_endpoint create_server create_unix_connection create_unix_server
    run_in_executor sendfile set_default_executor set_exception_handler set_task_factory sock_accept
    sock_connect"""
)
"""Methods that are refused on event loops only: they open connections, servers and threads."""

REGISTERING_METHODS = frozenset({"register"})
"""Methods that are refused on classes of Python's library only: they change `isinstance` for the whole process."""

SAFE_NAMES = split_words(
    """__abs__ __add__ __aenter__ __aexit__ __aiter__ __all__ __and__ __anext__ __await__ __bool__ __bytes__
    __call__ __cause__ __ceil__ __class__ __class_getitem__ __complex__ __contains__ __context__ __copy__ __deepcopy__
    __del__ __delitem__ __dir__ __divmod__ __doc__ __enter__ __eq__ __exit__ __float__ __floor__ __floordiv__
    __format__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__
    __imod__ __imul__ __index__ __init__ __init_subclass__ __instancecheck__ __int__ __invert__ __ior__
    __ipow__ __irshift__ __isub__ __iter__ __itruediv__ __ixor__ __le__ __len__ __length_hint__ __lshift__
    __lt__ __matmul__ __missing__ __mod__ __module__ __mul__ __name__ __ne__ __neg__ __new__
    __next__ __notes__ __optional_keys__ __or__ __origin__ __pos__ __post_init__ __pow__ __prepare__
    __qualname__ __radd__ __rand__ __rdivmod__ __repr__ __required_keys__ __reversed__ __rfloordiv__
    __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ __rsub__
    __rtruediv__ __rxor__ __setitem__ __slots__ __str__ __sub__ __subclasscheck__ __suppress_context__
    __total__ __truediv__ __trunc__ __version__ __xor__
    _ _asdict _field_defaults _fields _generate_next_value_ _ignore_ _make _missing_ _name_ _order_ _replace
    _value_"""
)
"""Names with an underscore that may be read from every object; others are checked against the object."""

REFUSED_BINDINGS = split_words("__annotations__ __class__ __dataclass_fields__ __match_args__")
"""Attributes that Python uses as attribute names or as code, and the class: they may be read but not set."""

REFUSED_MEMBERS: Mapping[str, frozenset[str]] = {
    "base64": split_words("main test"),
    "calendar": split_words("LocaleHTMLCalendar LocaleTextCalendar different_locale"),
    "contextlib": split_words("chdir redirect_stderr redirect_stdout"),
    "csv": split_words("field_size_limit register_dialect unregister_dialect"),
    "dataclasses": split_words("make_dataclass"),
    "enum": split_words("global_enum global_enum_repr global_flag_repr global_str"),
    "functools": split_words("singledispatch singledispatchmethod update_wrapper"),
    "string": split_words("Formatter"),
    "time": split_words("clock_settime clock_settime_ns pthread_getcpuclockid tzset"),
    "types": split_words("CodeType FrameType FunctionType LambdaType ModuleType TracebackType"),
    "typing": split_words("ForwardRef evaluate_forward_ref get_args get_type_hints"),
    "typing_extensions": split_words(
        "ForwardRef evaluate_forward_ref get_annotations get_args get_type_hints"
    ),
    "uuid": split_words("uuid1 uuid6 getnode"),
    "zoneinfo": split_words("reset_tzpath"),
}
"""Members of importable modules that have effects or evaluate text."""

MARKING_MEMBERS = split_words(
    "final no_type_check override runtime_checkable total_ordering update_abstractmethods"
)
"""Functions of importable modules that set attributes of a class or a function."""

ALLOWED_MEMBERS: Mapping[str, frozenset[str]] = {
    "asyncio": split_words(
        """ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event
        FIRST_COMPLETED FIRST_EXCEPTION Future InvalidStateError LifoQueue Lock PriorityQueue Queue
        QueueEmpty QueueFull QueueShutDown Semaphore Task TaskGroup TimeoutError all_tasks as_completed
        create_task current_task ensure_future gather iscoroutine iscoroutinefunction isfuture shield sleep
        timeout timeout_at wait wait_for"""
    )
}
"""The only allowed members of modules that mostly have effects: event loops start processes, servers and threads."""

SUBMODULES = split_words("collections.abc html.entities html.parser json.decoder json.encoder")
"""The importable submodules."""

PROCESS_EVENTS = split_words(
    """os.exec os.fork os.forkpty os.kill os.posix_spawn os.spawn os.startfile os.startfile/2 os.system pty.spawn
    subprocess.Popen ctypes.dlopen ctypes.dlsym ctypes.call_function ctypes.cdata socket.bind socket.connect
    socket.sendto socket.sendmsg pickle.find_class sys.addaudithook sys.settrace sys.setprofile code.__new__
    gc.get_objects gc.get_referrers gc.get_referents"""
)
"""Audit events that are refused even if library code causes them for a snippet."""

DIRECT_EVENTS = split_words(
    """open compile exec marshal.loads marshal.load os.chdir os.chflags os.chmod os.chown os.link os.listdir os.mkdir
    os.putenv os.remove os.rename os.rmdir os.scandir os.symlink os.truncate os.unsetenv os.utime shutil.rmtree
    sqlite3.connect socket.__new__ sys._current_frames object.__setattr__ object.__delattr__"""
)
"""Audit events that are refused only if a snippet causes them directly: library code may need them, as for paths."""

MODULES_WITH_EFFECTS = split_words(
    """_ctypes _io _posixsubprocess _socket _sqlite3 asyncio ctypes ftplib gc http importlib io marshal
    multiprocessing nt os pickle posix pty shutil signal smtplib socket sqlite3 ssl subprocess sys tempfile urllib"""
)
"""Modules that allow effects if the prompt names one of their functions or objects."""


def is_checked_name(name: str) -> bool:
    """Return whether reading an attribute of this name is checked at run time."""
    return (
        (name[0] == "_" and name not in SAFE_NAMES)
        or name in FORMAT_METHODS
        or name in LOOP_METHODS
        or name in REGISTERING_METHODS
    )
