"""Redact secrets in texts for a model.

    Client(host='db', password='hunter2')       Client(host='db', password=<redacted>)     by name
    'key sk-proj-4f8a9c0d1e2f'                  'key <redacted>'                           by shape
    print(client.password)                      <redacted>        a value with such a name elsewhere

False negatives: secrets of unknown shape under innocent names, encoded ones, and values more than
`MAX_SCANNED_OBJECTS` objects away. False positives: other texts under a name such as `secret`.
"""

from __future__ import annotations

import json
import re
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, TypeVar

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    find_member,
    get_class_namespace,
    get_mro,
    is_a,
    is_exactly,
    is_user_class,
    read_attributes,
)

T = TypeVar("T")
REDACTED = "<redacted>"
MAX_SCANNED_OBJECTS = 2_000
"""Most objects that are searched for secrets before a result is shown."""
_MAX_SCANNED_ITEMS = 100
MIN_SECRET_CHARS = 5
"""Shorter secrets are not replaced inside other texts: they occur by chance."""

# ── names ─────────────────────────────────────────────────────────────────────────────────────────

_SECRET_WORDS = re.compile(
    r"[a-z]passw(?:or)?d$|^sshpass$|(?:^|_)(?:pass(?:word|wd|phrase|code)|passw|pwd|secret"
    r"|credential|private_?key|api_?key|authorization|jwt"
    r"|(?:access|account|admin|app|auth|client|consumer|encryption|license|master|secret"
    r"|service|shared|signing"
    r"|ssh|webhook)_?key|(?:access|api|app|auth|bearer|bot|client|csrf|id|login|oauth"
    r"|personal|refresh|reset|security"
    r"|session|user|verification|xsrf)_?token|session_?id|set_cookie|connection_string|cvv"
    r"|cvc|otp)s?(?:_|\d|$)"
)
_HARMLESS_START = re.compile(r"^(?:is|has|have|needs?|use|uses|num|no|n|min|max|len|show|check)_")
_HARMLESS_END = re.compile(
    r"_(?:at|attempts|changed|changes|class|count|created|date|days|enabled|error|expired"
    r"|expires|expiry|field|fields"
    r"|file|form|format|function|header|help|hint|hasher|hashers|kind|label|len|length"
    r"|limit|manager|max|message"
    r"|method|min|name|names|path|pattern|policy|prompt|provider|regex|required|reset|rule"
    r"|rules|santa|scheme|size"
    r"|strength|type|ttl|uri|url|usage|valid|validator|validators|version)$"
    r"|(?<!session)_id$"
)
_AMBIGUOUS_NAMES = {"token", "cookie", "cookies", "auth", "bearer", "sid", "pin"}
"""Names of secrets in some programs, ordinary in others; plain words under them are shown."""
_PLAIN_WORDS = re.compile(r"[^\W\d_]+(?:[ '-][^\W\d_]+)*|\W{0,3}|\d{1,3}")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]+")
ADDRESS_NAME = "netloc"
"""The name that `urllib.parse` gives to the user, password and host of a URL."""
_PASSWORD = re.compile(r"[^:@]*:(.+)@")
_SHOWN_TYPES = (
    *(bool, type(None), type(...)),
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType),
)
_AMBIGUOUS_TYPES = (str, bytes, dict, tuple)


@lru_cache(maxsize=4096)
def classify_name(label: str) -> Literal["secret", "ambiguous", ""]:
    """Return whether a name or label, such as `apiKey=` or `'API-Key': `, likely means a secret."""
    name = label.partition(" (")[0].strip("\"'=: ")
    if not 1 < len(name) <= 64:
        return ""
    name = _WORD_BREAK.sub("_", name).lower().strip("_")
    if name in _AMBIGUOUS_NAMES:
        return "ambiguous"
    if not re.fullmatch(r"\w+", name) or not _SECRET_WORDS.search(name):
        return ""
    return "" if _HARMLESS_START.search(name) or _HARMLESS_END.search(name) else "secret"


def is_secret(label: str, value: UserValue) -> bool:
    """Return whether a value under this name is a secret."""
    match classify_name(label):
        case "secret":
            is_empty = is_exactly(value, str, bytes, list, dict, tuple) and not value
            return not is_empty and not is_exactly(value, *_SHOWN_TYPES) and not is_a(value, type)
        case "ambiguous":
            is_word = type(value) is str and _PLAIN_WORDS.fullmatch(value)
            return is_exactly(value, *_AMBIGUOUS_TYPES) and bool(value) and not is_word
    return False


# ── shapes ────────────────────────────────────────────────────────────────────────────────────────

_ASSIGNMENT = re.compile(
    r"""(?P<head>(?<![\w.-])-{0,2}(?P<name>[a-z_][\w.-]{1,60})\\*['"]?\s{0,3}
        (?:=|:\ *[a-z_][\w.\[\],|\ ]{0,40}=|:)\s{0,3})
        (?:(?P<quote>\\*['"])(?P<quoted>.*?)(?P=quote) | (?P<bare>[^\s,;&'"<>()\[\]{}|\\]+))""",
    re.VERBOSE | re.IGNORECASE,
)
_EMPTY_TEXTS = {"", "None", "True", "False", "null", "true", "false", "..."}


def _redact_assignments(text: str) -> str:
    """Redact `password='x'`, `"password": "x"` and `PASSWORD=x`.

    Also `password: x1`, unless `x1` is a plain word.
    """
    parts, copied, start = [], 0, 0
    while found := _ASSIGNMENT.search(text, start):
        quoted, bare = found["quoted"], found["bare"]
        is_loose = quoted is None and "=" not in found["head"] and not re.search(r"\d", bare)
        is_empty = (bare if quoted is None else quoted) in _EMPTY_TEXTS
        start = found.end("head")
        is_option = found["head"].startswith("-") and classify_name(found["name"]) != ""
        is_named = is_option or classify_name(found["name"]) == "secret"
        if is_named and not is_loose and not is_empty:
            quote = found["quote"] or ""
            parts += [text[copied:start], quote, REDACTED, quote]
            copied = start = found.end()
    return "".join([*parts, text[copied:]])


_NAMED_BEFORE = re.compile(
    r"""(?<![\w.-])(?P<dashes>-{1,2})(?P<option>[a-z][\w-]{1,60})
            (?P<gap>\s+|\\*['"],\s*\\*b?['"])(?P<value>(?!-)[^\s'"\\]+)
        | (?P<open>[(\[])\s*\\*b?['"](?P<name>[a-z_][\w-]{1,60})\\*['"],\s*\\*b?['"]
            (?P<other>[^'"]+)(?=['"]\s*[)\]])""",
    re.VERBOSE | re.IGNORECASE,
)
"""`--password X`, `'--password', 'X'`, `('password', 'X')`: a secret named by a word before it."""


def redact_named_before(text: str) -> str:
    """Redact secrets in command lines and in name-value pairs."""
    return _NAMED_BEFORE.sub(_redact_match, text)


def _redact_match(found: re.Match[str]) -> str:
    part = "value" if found["option"] else "other"
    name, value = found["option"] or found["name"], found[part]
    is_option = bool(found["option"])
    is_word = found["open"] == "[" and value.isidentifier() and value.islower()
    is_named = classify_name(name) == "secret" or (is_option and classify_name(name) != "")
    if not is_named or value in _EMPTY_TEXTS or is_word:
        return found[0]
    return found[0][: found.start(part) - found.start()] + REDACTED


_SHAPES = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        r"(://[^\s/:@'\"<>]*:)[^\s/'\"]+(?=@)",
        r"(netloc\\*['\"]?\s*[:=]\s*\\*['\"]?[^\s:@'\"]*:)[^\s'\"]+(?=@)",
        r"((?i:authorization)\\*['\"]?\s*[:=,]\s*\\*['\"]?)"
        r"(?i:basic|bearer|digest|token|apikey|negotiate)\s+[^\s'\"\\]+",
        r"(?i)(cookie: *)[^\s=]+=[^\r\n'\"\\]*",
        r"()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\w+/=\s\\:,.-]*)",
        r"()(?<![\w-])(?:sk-(?=[\w-]*\d)|xox[abeoprs]-|xapp-|xai-|glpat-|pypi-)[\w-]{8,}",
        r"()\b(?:(?:[sr]k_(?:live|test)|gh[opusr]|github_pat|gsk|hf|npm|shpat"
        r"|dop_v1)_)(?=\w*\d)\w{8,}",
        r"()eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?",
        r"()(?:ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,})",
        r"()A(?:(?:KIA|SIA)[A-Z0-9]{12,}|Iza[\w-]{16,})",
        r"([Bb](?:earer|asic) )(?=[^\s'\"]*\d)[\w.~+/=-]{8,}",
    )
)
"""The shapes of secrets; what the first group finds stays."""


def _redact_tail(found: re.Match[str]) -> str:
    return found[1] + REDACTED


def redact_shapes(text: str) -> str:
    """Replace the secrets in a text that are recognized by their shape or by a preceding name."""
    for shape in _SHAPES:
        text = shape.sub(_redact_tail, text)
    return redact_named_before(_redact_assignments(text))


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


class Redactor:
    """Redacts the texts of one run according to one rule (state: the secrets seen so far)."""

    def __init__(self, rule: bool = True) -> None:
        self.rule = rule
        self.known: set[str] = set()

    def write_named(self, label: str, value: UserValue, write: Callable[[], T]) -> T | str:
        """Write a named value by calling `write`, or return the text that replaces it."""
        if self.rule and ADDRESS_NAME in label:
            self._add_password(value)
        if not (self.rule and is_secret(label, value)):
            return write()
        self.add_known(value)
        return REDACTED

    def add_known(self, value: UserValue) -> None:
        """Remember the text of a secret, in order to find it in other texts."""
        text = value.decode("latin-1") if type(value) is bytes else value
        text = str(text) if type(text) is int else text
        if type(text) is str and len(text) >= MIN_SECRET_CHARS:
            self.known |= {text, repr(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}

    def _add_password(self, address: UserValue) -> None:
        """Remember the password in the address of a parsed URL: `user:PASSWORD@host`."""
        if type(address) is str and (found := _PASSWORD.match(address)):
            self.add_known(found[1])

    def redact(self, text: str) -> str:
        """Redact a text from any source."""
        if not self.rule or not text:
            return text
        if self.known:
            for secret in sorted(self.known, key=len, reverse=True):
                text = text.replace(secret, REDACTED)
        return redact_shapes(text)

    def scan(self, values: Iterable[tuple[str, UserValue]]) -> None:
        """Remember the secrets that are reachable from named values."""
        if not self.rule:
            return
        waiting, seen = deque(values), set[int]()
        while waiting and len(seen) < MAX_SCANNED_OBJECTS:
            label, value = waiting.popleft()
            if is_exactly(value, str, bytes, int):
                if ADDRESS_NAME in label:
                    self._add_password(value)
                if label and is_secret(label, value):
                    self.add_known(value)
            elif (at := id(value)) not in seen and not is_exactly(value, *_SHOWN_TYPES, float):
                seen.add(at)
                inherited = label if classify_name(label) == "secret" else ""
                waiting += islice(_list_named_parts(inherited, value), _MAX_SCANNED_ITEMS)


def _list_named_parts(inherited: str, value: Any) -> Iterable[tuple[str, UserValue]]:
    """Return an object's items and attributes with names; a secret's items inherit its name."""
    if is_a(value, dict):
        return (
            (inherited or (key if type(key) is str else ""), item)
            for key, item in dict.items(value)
        )
    if is_a(value, list) or is_a(value, tuple):
        return _name_items(inherited, value)
    for kind in (set, frozenset):
        if is_a(value, kind):
            return ((inherited, item) for item in kind.__iter__(value))
    if is_a(value, type):
        return _select_texts(get_class_namespace(value))
    if is_a(value, types.ModuleType):
        return _select_texts(read_attributes(value))
    own = [
        (name if type(name) is str else "", item) for name, item in read_attributes(value).items()
    ]
    return [*own, *(("", cls) for cls in get_mro(type(value)) if is_user_class(cls))]


def _name_items(inherited: str, values: Any) -> Iterable[tuple[str, UserValue]]:
    """Return a sequence's items with names: field names, a pair's first, or a preceding option."""
    items = list(
        islice((list if is_a(values, list) else tuple).__iter__(values), _MAX_SCANNED_ITEMS)
    )
    fields = find_member(type(values), "_fields") if is_a(values, tuple) else None
    if type(fields) is tuple and len(fields) == len(items):
        return zip(fields, items, strict=True)
    names = ["", *items]
    is_pair = len(items) == 2 and is_a(values, tuple)
    return [
        (inherited or (name if type(name) is str and (is_pair or name[:1] == "-") else ""), item)
        for name, item in zip(names, items, strict=False)
    ]


def _select_texts(names: Mapping[str, Any]) -> list[tuple[str, UserValue]]:
    """Return the str and bytes values in the namespace of a class or module; others are skipped."""
    return [(name, item) for name, item in list(names.items()) if is_exactly(item, str, bytes)]
