"""What the compiler lets a block do: the jumps that its text names, and code only where it may be needed."""

from __future__ import annotations

import textwrap

import pytest

from case_programs import read_program
from compiling import compile_text
from njc.compiler.analysis.authority import Authority
from njc.compiler.compiler import Compilation
from njrt.data.options import Options

HEAD = read_program("authority")


def compile_program(text: str, **options: str) -> Compilation:
    project = Options(**options)  # type: ignore[arg-type]
    compilation = compile_text(HEAD + textwrap.dedent(text), project)
    errors = {found.code for found in compilation.diagnostics if found.severity == "error"}
    assert not errors, compilation.diagnostics
    return compilation


def decide(text: str, **options: str) -> Authority:
    return compile_program(text, **options).authorities[-1]


def decide_prompt(
    prompt: str, parameters: str = "x: str", lead: str = "", **options: str
) -> Authority:
    """Return the authority of one block in a loop of a function."""
    return decide(
        f"def f({parameters}):\n    {lead or 'pass'}\n    for _ in range(2):\n"
        f'        """natural\n        {prompt}\n        """\n',
        **options,
    )


# ── jumps ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("Do it.", ()),
        ("Break if <x> is done.", ("break",)),
        ("Define <:f>, which breaks <x> in two, continues with both and returns them.", ()),
        ("It returns nothing. Return <x>.", ("return",)),
        ("CONTINUE, if so.", ("continue",)),
        ("continuing with the next", ("continue",)),
        ("Return <x>.", ("return",)),
        ("It is returned, or broken off.", ("break", "return")),
        ("Sort out the broken parts of <x>.", ()),
        ("Never break. Do not continue, and don't ever return.", ()),
        ("Do not break or continue.", ()),
        ("Do not break unless <x> is done; never return before.", ("break", "return")),
        ("break, continue or return", ("break", "continue", "return")),
        ("a coffee break", ("break",)),
        ("the breakfast of the discontinued <x>", ()),
        ("return_value and unbroken", ()),
        ("Put into <:action: Literal['break', 'continue', 'return']> what <x> wants.", ()),
        ("Put <x> into <:return_>.", ()),
        ("never return, or say 'break'", ("break",)),
        ("stop here and skip it", ()),
    ],
)
def test_a_block_is_offered_the_jumps_that_its_text_names(words, labels) -> None:
    assert decide_prompt(words).labels == labels


def test_only_legal_jumps_are_offered() -> None:
    assert decide('"""natural\nBreak or return <LIMIT>.\n"""\n').labels == ()
    assert decide('async def f():\n    """natural\n    return\n    """\n    yield 1\n').labels == (
        "bare_return",
    )


def test_all_jumps_on_request() -> None:
    everything = ("break", "continue", "return")
    assert decide_prompt("Do <x>.", jumps="all").labels == everything
    text = 'def f(x):\n    for _ in x:\n        """natural(jumps="all")\n        Do <x>.\n        """\n'
    assert decide(text).labels == everything


def test_a_jump_that_is_not_named_has_no_arm() -> None:
    text = (
        'def f(x):\n    for _ in x:\n        """natural\n        Do <x>, or break.\n        """\n'
    )
    output = (compile_program(text).output or b"").decode()
    assert 'labels="break"' in output
    assert output.count("except") == 1
    assert "try:" not in (compile_program(text.replace(", or break", "")).output or b"").decode()


def test_data_in_an_f_string_names_no_jump() -> None:
    text = 'def f(x):\n    for y in x:\n        f"""natural\n        Do {y}.\n        """\n'
    assert decide(text).labels == ()


# ── data or code: outputs ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "declared",
    [
        *(
            "str",
            "int",
            "float",
            "bool",
            "None",
            "bytes",
            "Kind",
            "Color",
            "Point",
            "Movie",
            "Person",
        ),
        *("Order", "Literal['a', 1]", "list[str]", "dict[str, list[Color]]", "tuple[int, str]"),
        *("tuple[int, ...]", "set[int]", "frozenset[str]", "Sequence[Order]", "Mapping[str, int]"),
        *("Optional[Order]", "Union[int, str]", "int | None", "Rows", "Annotated[int, 'x']"),
        *("datetime.date", "datetime.datetime", "decimal.Decimal", "uuid.UUID", "Path"),
        *("collections.abc.Sequence[int]", "list['Order']", "'Order'"),
        *("UserId", "Partial", "Formula", "Settings", "Marked", "dict[Kind, int]"),
    ],
)
def test_types_that_json_carries_are_answers(declared) -> None:
    assert decide_prompt(f"Put <x> into <:y: {declared}>.").effects == "answer"


@pytest.mark.parametrize(
    "declared",
    [
        *("Any", "object", "list", "dict", "dict[str, Any]", "Callable[[], int]", "Iterator[int]"),
        *(
            "Iterable[int]",
            "Plain",
            "Foreign",
            "type",
            "type[Order]",
            "Odd",
            "list[Plain]",
            "complex",
        ),
        *("Order | Plain", "Annotated[Plain, 1]", "date", "list[date]", "date | None", "Extended"),
        *("Cat | Dog", "Perm", "dict[tuple[int, int], str]", "Bike", "Page[int]", "str | bytes"),
    ],
)
def test_types_that_json_does_not_carry_need_code(declared) -> None:
    authority = decide_prompt(f"Put <x> into <:y: {declared}>.")
    assert authority.effects == "direct"
    assert "output" in authority.reason


@pytest.mark.parametrize(
    "alias",
    [
        'Json = Union[str, list["Json"]]',
        'Json = Optional["Json"]',
        'Json = Union["Json", "Json"]',
        'Json = dict[str, "Json | int"]',
        'One = list["Json"]; Json = Union[int, "One"]',
        "Json: TypeAlias = 'list[Json]'",
    ],
)
def test_an_alias_that_refers_to_itself_needs_code(alias) -> None:
    text = f'from typing import TypeAlias\n{alias}\n"""natural\nMake <:y: Json>.\n"""\nprint(y)\n'
    assert decide(text).effects == "direct"


def test_a_class_that_refers_to_itself_is_data() -> None:
    text = (
        "@dataclass\nclass Tree:\n    value: int\n    parts: list[Tree]\n    up: Optional['Tree']\n"
    )
    assert decide(text + '"""natural\nMake <:y: Tree>.\n"""\n').effects == "answer"


def test_an_output_needs_a_type_and_must_be_a_name() -> None:
    assert "no type" in decide_prompt("Put <x> into <:y>.").reason
    assert decide_prompt("Put <x> into <:y>.", lead="y: int").effects == "answer"
    assert "attribute" in decide_prompt("Set <:x.y: int>.", "x").reason


BLOCK = '"""natural\n        Put <x> into <:y>.\n        """'
OF_ANOTHER_VARIABLE = {
    "a parameter around it": f"def o(y: int):\n    def f(x: str):\n        {BLOCK}\n        return y\n",
    "a variable around it": f"def o():\n    y: int = 1\n    def f(x: str):\n        {BLOCK}\n        return y\n",
    "a variable of the module": f"y: int = 1\ndef f(x: str):\n        {BLOCK}\n        return y\n",
    "a field of the class": f"class C:\n    y: int\n    def f(self, x: str):\n        {BLOCK}\n        return y\n",
    "a field, but of the module": f"y = 1\nclass C:\n    y: int\n    def f(self, x: str):\n        global y\n        {BLOCK}\n",
    "a private field": f"class C:\n    __y: int\n    def f(self, x: str):\n        {BLOCK}\n        return __y\n".replace(
        "<:y>", "<:__y>"
    ),
    "another method": f"class C:\n    def g(self, y: int): ...\n    def f(self, x: str):\n        {BLOCK}\n        return y\n",
}
OF_THE_VARIABLE = {
    "a parameter": f"def f(x: str, y: int):\n        {BLOCK}\n        return y\n",
    "a variable below": f"def f(x: str):\n        {BLOCK}\n        y: int\n        return y\n",
    "a global variable": f"y: int = 1\ndef f(x: str):\n        global y\n        {BLOCK}\n",
    "a variable of the function around": f"def o():\n    y: int = 1\n    def f(x: str):\n        nonlocal y\n        {BLOCK}\n",
    "a variable of the class": f"x: str = ''\nclass C:\n        y: int\n        {BLOCK}\n",
}


@pytest.mark.parametrize("place", OF_ANOTHER_VARIABLE)
def test_the_annotation_of_another_variable_is_no_type_of_an_output(place: str) -> None:
    text = OF_ANOTHER_VARIABLE[place]
    assert "no type" in decide(text).reason
    name = "__y" if "__y" in text else "y"
    read = f'        """natural\n        Put <{name}> into <:z: int>.\n        """\n'
    assert f"change `{name}`" in decide(text.replace(f"        return {name}\n", "") + read).reason


@pytest.mark.parametrize("place", OF_THE_VARIABLE)
def test_the_annotation_of_the_variable_is_the_type_of_an_output(place: str) -> None:
    assert decide(OF_THE_VARIABLE[place]).effects == "answer"


def test_a_block_without_outputs_and_jumps_acts_on_the_program() -> None:
    assert decide_prompt("Print <x>.").effects == "direct"
    assert decide_prompt("Break if <x> is rude.").effects == "answer"


# ── data or code: what is read ───────────────────────────────────────────────────────────────────

READ = "Put <x> into <:y: int>."


@pytest.mark.parametrize(
    "parameters",
    [
        *("x: str", "x: int | None", "x: Kind", "x: Color", "x: Point", "x: tuple[int, ...]"),
        *("x: frozenset[str]", "x: Sequence[str]", "x: Mapping[str, int]", "x: Frozen", "x: 'str'"),
        *(
            "x: Optional[str]",
            "x: Sequence[Mapping[str, str]]",
            "x: datetime.date",
            "x: Annotated[str, 1]",
        ),
        *("x: UserId", "x: Settings", "x: Marked", "x: Bike", "x: Perm"),
        *("x: ValueError", "x: ForeignError | KeyError", "x: NotForSale"),
    ],
)
def test_what_cannot_be_changed_may_be_read(parameters) -> None:
    assert decide_prompt(READ, parameters).effects == "answer"


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ("x", "annotate `x`"),
        ("x: Any", ""),
        ("x: object", ""),
        ("x: list[str]", "annotate `x: Sequence[str]`, if the block only reads it"),
        ("x: dict[str, int]", "annotate `x: Mapping[str, int]`, if the block only reads it"),
        ("x: set[int]", "annotate `x: frozenset[int]`, if the block only reads it"),
        ("x: Rows", "annotate `x: Sequence[Mapping[str, str]]`, if the block only reads it"),
        ("x: Cat", 'write `effects="answer"` on the block, if it only reads `x`'),
        ("x: list[str] | None", ""),
        ("x: Iterator[str]", ""),
        ("x: Movie", ""),
        ("x: Plain", ""),
        ("x: Foreign", ""),
        ("*x: str", 'write `effects="answer"` on the block, if it only reads `x`'),
        ("**x: str", 'write `effects="answer"` on the block, if it only reads `x`'),
        ("x: Callable[[], int]", ""),
        ("x: Cat | Dog", 'write `effects="answer"` on the block, if it only reads `x`'),
        ("x: Person", 'write `effects="answer"` on the block, if it only reads `x`'),
    ],
)
def test_what_may_be_changed_needs_code(parameters, remedy) -> None:
    authority = decide_prompt(READ, parameters)
    assert authority.effects == "direct"
    assert "`x" in authority.reason
    if remedy:
        assert authority.remedy == remedy


@pytest.mark.parametrize(
    ("lead", "effects"),
    [
        ("x = 'a'", "answer"),
        ("x = f'{LIMIT}'", "answer"),
        ("x = len('a')", "answer"),
        ("x = make()", "answer"),
        ("x = 'a'.strip()", "answer"),
        ("x = 1 if LIMIT else 2", "direct"),
        ("x = LIMIT + 1", "answer"),
        ("x = -1", "answer"),
        ("x = []", "direct"),
        ("x = 'a'.split()", "direct"),
        ("x = 'a'; x = []", "direct"),
        ("x = open('a')", "direct"),
        ("x, z = 1, 2", "direct"),
        ("(x := [])", "direct"),
        ("import x", "direct"),
        ("x = Order('a', [])", "direct"),
        ("x = Frozen('a', [])", "answer"),
        ("def x(): ...", "direct"),
        ("x: Final = 3", "direct"),
        ("x: 'Final' = make()", "direct"),
        ("x: Final[str] = LIMIT", "answer"),
        ("x: Final[list[str]] = []", "direct"),
        ("x = LIMIT or 'a'", "direct"),
        ("x = Path('a').read_text()", "direct"),
        ("x: str; x, z = make(), 1", "answer"),
        ("x: list[str]; x, z = make(), 1", "direct"),
        ("x: str; import x", "direct"),
        ("x = datetime.date.today()", "direct"),
        ("x = LIMIT > 2", "direct"),
        ("x = -Frozen('a', ())", "direct"),
        ("x = Frozen('a', ())[1:]", "direct"),
        ("x = walk()", "direct"),
        ("x = load()", "direct"),
        ("x = Client().load()", "direct"),
        ("x = Client().walk()", "direct"),
        ("x = Client().page", "direct"),
        ("x = Color.RED", "answer"),
        ("x: str\n    with make() as x: pass", "answer"),
        ("try: make()\n    except (OSError, ForeignError) as x: pass", "direct"),
        ("try: make()\n    except ForeignError as x: pass", "answer"),
        ("try: make()\n    except Plain as x: pass", "direct"),
    ],
)
def test_the_type_of_a_variable_follows_from_all_that_binds_it(lead, effects) -> None:
    assert decide_prompt(READ, "", lead).effects == effects


@pytest.mark.parametrize(
    ("loop", "effects"),
    [
        ("for x in values", "answer"),
        ("for _, x in enumerate(values)", "answer"),
        ("for x, _ in zip(values, values)", "answer"),
        ("for x in sorted(values)", "answer"),
        ("for x in table", "answer"),
        ("for _, x in table.items()", "answer"),
        ("for x in table.values()", "direct"),
        ("for x in range(3)", "answer"),
        ("for x in rows", "direct"),
        ("for x in unknown", "direct"),
        ("for x in order.lines", "answer"),
        ("for x in Color", "answer"),
        ("for x, _ in pairs", "direct"),
    ],
)
def test_loops_bind_the_elements(loop, effects) -> None:
    text = (
        "def f(values: list[str], table: dict[str, int], rows: Rows, unknown, order: Order, pairs: list[tuple[str, list[int]]]):\n"
        f'    {loop}:\n        """natural\n        {READ}\n        """\n'
    )
    assert decide(text).effects == effects


@pytest.mark.parametrize(
    ("prompt", "effects"),
    [
        ("Raise <NotForSale> or put <LIMIT> into <:y: int>.", "answer"),
        ("Raise <ForeignError> or put <LIMIT> into <:y: int>.", "answer"),
        ("Raise <ValueError> or put a <Color> into <:y: Color>.", "answer"),
        ("Put a <Kind> into <:y: Kind>.", "answer"),
        ("Call <make> for <:y: str>.", "direct"),
        ("Put <BOX> into <:y: int>.", "direct"),
        ("Use <len> for <:y: int>.", "direct"),
        ("Use <FOREIGN> for <:y: int>.", "direct"),
        ("Raise <Sold> or put <LIMIT> into <:y: int>.", "direct"),
    ],
)
def test_classes_and_exceptions_may_be_read_and_functions_not(prompt, effects) -> None:
    assert decide_prompt(prompt, "").effects == effects


def test_attributes_have_the_types_of_their_class() -> None:
    assert decide_prompt("Put <x.name> into <:y: str>.", "x: Frozen").effects == "answer"
    assert decide_prompt("Put <x.tags> into <:y: str>.", "x: Holder").effects == "direct"
    method = (
        "class Box:\n    def __init__(self, name: str) -> None:\n        self.name = name\n"
        '    def f(self):\n        """natural\n        Put <self.name> into <:y: str>.\n        """\n'
    )
    assert decide(method).effects == "answer"
    assert decide(method.replace("<self.name>", "<self>")).effects == "direct"


def test_the_result_of_a_coroutine_is_known_where_it_is_awaited() -> None:
    for call in ("load()", "Client().load()"):
        text = f'async def f():\n    x = await {call}\n    """natural\n    {READ}\n    """\n'
        assert decide(text).effects == "answer"
        assert decide(text.replace("await ", "")).effects == "direct"


@pytest.mark.parametrize("text", [
    "class R:\n    log: list[str] = []\ndef f(x: type[R]):",
    "class R:\n    log: list[str] = []\ndef f(x: type[R] | None):",
    "class R:\n    log = []\nclass S(R): ...\ndef f(x: 'type[S]'):",
    "def f(x: type[Foreign]):", "def f(x: type):", "def f(x: type[Any]):", "def f(x: type[T]):",
    "class R:\n    @classmethod\n    def f(x):",
    *(f"@dataclass(frozen=True)\nclass R:\n    a: int\n    def {name}(x):" for name in ("__new__", "__init_subclass__", "__class_getitem__")),
    "@dataclass(frozen=True)\nclass R:\n    a: int\n    def f(x):\n        x = []",
])  # fmt: skip
def test_classes_that_can_be_changed_need_code(text) -> None:
    indent = " " * (len(text) - len(text.lstrip()) + 8)
    assert decide(f'{text}\n{indent}"""natural\n{indent}{READ}\n{indent}"""\n').effects == "direct"


@pytest.mark.parametrize(
    "kind", ["type[int]", "type[Color]", "type[NotForSale]", "type[Frozen]", "type[int | str]"]
)
def test_classes_without_changeable_attributes_may_be_read(kind) -> None:
    assert decide_prompt(READ, f"x: {kind}").effects == "answer"


def test_a_variable_that_a_function_binds_anew_is_not_known() -> None:
    text = (
        'def g():\n    global LIMIT\n    LIMIT = []\n"""natural\nPut <LIMIT> into <:y: int>.\n"""\n'
    )
    assert decide(text).effects == "direct"


def test_what_another_block_binds_has_the_type_of_its_prompt() -> None:
    text = 'def f(x: str):\n    """natural\n    Put <x> into <:y: {}>.\n    """\n    """natural\n    Put <y> into <:z: int>.\n    """\n'
    assert decide(text.format("str")).effects == "answer"
    assert decide(text.format("list[str]")).effects == "direct"


# ── the author's word ────────────────────────────────────────────────────────────────────────────


def test_the_author_and_the_project_have_the_last_word() -> None:
    assert decide_prompt(READ, authority="code").effects == "direct"
    assert decide_prompt(READ, effects="direct").effects is None
    text = 'def f(x):\n    """natural(effects="answer")\n    Put <x> into <:y: int>.\n    """\n'
    assert decide(text).effects is None
    assert b'effects="answer"' in (compile_program(text).output or b"")


def test_the_compiled_file_says_what_was_decided() -> None:
    text = 'def f(x: str):\n    """natural\n    Put <x> into <:y: int>.\n    """\n    return y\n'
    assert b'effects="answer"' in (compile_program(text).output or b"")
    assert b"effects" not in (compile_program(text.replace("x: str", "x")).output or b"")


def test_what_is_returned_is_typed() -> None:
    text = 'def f(x: str) -> list[int]:\n    """natural\n    Return the digits of <x>.\n    """\n    return []\n'
    assert b'types=lambda: {"return": list[int]}' in (compile_program(text).output or b"")
    assert b"types" not in (compile_program(text.replace("Return", "See")).output or b"")


@pytest.mark.parametrize(
    ("returns", "effects"),
    [
        *(("int", "answer"), ("Any", "answer"), ("object", "answer"), ("Optional[Order]", "answer")),
        *(("Foreign", "direct"), ("date", "direct"), ("Callable[[], int]", "direct"), ("Cat | Dog", "direct")),
    ],
)  # fmt: skip
def test_what_may_be_returned_must_be_data_too(returns, effects) -> None:
    text = f'def f(x: str) -> {returns}:\n    """natural\n    Return what <x> means.\n    """\n'
    assert decide(text).effects == effects
    assert decide(text.replace("Return what", "Break, or see what")).effects == "direct"


def test_methods_and_properties_say_what_they_return() -> None:
    text = (
        "class Box:\n    @property\n    def mood(self) -> str: ...\n    def make(self) -> str: ...\n"
        '    def f(self):\n        x = self.make()\n        """natural\n        Put <self.mood> and <x> into <:y: int>.\n        """\n'
    )
    assert decide(text).effects == "answer"
    assert decide(text.replace("-> str", "-> list[str]", 1)).effects == "direct"
    assert decide(text.replace("make(self) -> str", "make(self)")).effects == "direct"


@pytest.mark.parametrize("count", [4, 30])
def test_classes_that_refer_to_each_other_are_read_in_little_time(count) -> None:
    names = [f"C{number}" for number in range(count)]
    fields = "".join(f"    f{name}: {name} | None\n" for name in names)
    classes = "".join(f"@dataclass\nclass {name}:\n{fields}\n" for name in names)
    authority = decide(f'{classes}"""natural\nMake <:y: C0>.\n"""\nprint(y)\n')
    assert authority.effects == "answer"


# ── hints ────────────────────────────────────────────────────────────────────────────────────────

ANSWERABLE = {
    "annotate `x`": lambda text: text.replace("(x)", "(x: str)").replace("(*x)", "(*x: str)"),
    "annotate `x: ": lambda text: text.replace("x: list[str]", "x: Sequence[str]").replace(
        "x: Rows", "x: Sequence[Mapping[str, str]]"
    ),
    "make `Order` a frozen": lambda text: text.replace(
        "@dataclass\nclass Order", "@dataclass(frozen=True)\nclass Order"
    ).replace("lines: list", "lines: Sequence"),
    'write `effects="answer"`': lambda text: text.replace(
        "natural\n", 'natural(effects="answer")\n'
    ),
    "import `date` outside": lambda text: text.replace("if TYPE_CHECKING:", "if True:"),
    "use one, or give each class a field": lambda text: text.replace(
        "class Cat:", 'class Cat:\n    kind: Literal["cat"]'
    ).replace("class Dog:", 'class Dog:\n    kind: Literal["dog"]'),
    "write its type, as in `<:y: str>`": lambda text: text.replace("<:y>", "<:y: str>"),
}


@pytest.mark.parametrize(
    ("parameters", "prompt"),
    [
        *((parameters, READ) for parameters in ("(x)", "(*x)", "(x: list[str])", "(x: Rows)", "(x: Order)")),
        *((f"(x: {name})", READ) for name in ("Plain", "Foreign", "Person", "Movie", "T", "list[str] | None")),
        *(("(**x: str)", READ), ("()", "Use <FOREIGN> for <:y: int>."), ("(x: str)", "Put <x> into <:y>.")),
        *(("(x: str)", f"Read <x> as <:y: {name}>.") for name in ("date", "Cat | Dog", "Foreign", "Extended")),
    ],
)  # fmt: skip
def test_a_block_whose_hint_is_followed_answers(parameters, prompt) -> None:
    text = HEAD + f'def f{parameters}:\n    """natural\n    {prompt}\n    """\n    return y\n'

    def read_authority(text: str) -> tuple[Authority, list[str]]:
        compilation = compile_text(text, Options())
        hints = [found.code for found in compilation.hints if found.code == "NJ304"]
        return compilation.authorities[-1], hints

    authority, hints = read_authority(text)
    assert (authority.effects, hints) == ("direct", ["NJ304"])
    follow = next(
        change for words, change in ANSWERABLE.items() if authority.remedy.startswith(words)
    )
    assert follow(text) != text
    followed, hints = read_authority(follow(text))
    is_set = authority.remedy.startswith('write `effects="answer"`')
    assert (followed.effects, hints) == (None if is_set else "answer", [])


def find_jump_hints(prompt: str, is_loop: bool = True) -> list[tuple[str, str]]:
    head = "def f(x: str):\n" + ("    for _ in x:\n" if is_loop else "    if x:\n")
    compilation = compile_program(f'{head}        """natural\n        {prompt}\n        """\n')
    return [
        (found.message.split("`")[1], found.hint)
        for found in compilation.diagnostics
        if found.code == "NJ303"
    ]


@pytest.mark.parametrize(
    ("words", "jumps"),
    [
        *((words, ["continue"]) for words in ("Skip it.", "It is skipped then.", "skipping <x>")),
        *((words, ["break"]) for words in ("Stop here.", "Then it stops.", "STOPPED")),
        ("Stop, but do not skip it.", ["break"]),
        ("Skip the empty, stop at the end.", ["continue", "break"]),
        ("Skip it: continue.", []),
        ("Stop: break.", []),
        ("Stop: return.", []),
        ("Skip it, or break.", ["continue"]),
        *((words, []) for words in (
            "Do not stop.", "It never stops.", "Don't skip any.", "without skipping",
            "a non-stop train", "Put into <:skip: bool> what <x> is.", "Leave the loop.",
            "Put into <:y: Literal['skip', 'stop']> what <x> says.", 'what "stop" means',
            "'skip' is a word", "`stop`", "skipper, stopgap, nonstop", "Go on.")),
    ],
)  # fmt: skip
def test_words_that_mean_a_jump_without_naming_it_are_reported(words, jumps) -> None:
    hints = [hint.split("`")[1] for _, hint in find_jump_hints(words)]
    assert hints == jumps
    if jumps and "," not in words:  # what the hint says is enough
        assert not find_jump_hints(f"{words} That is: {jumps[0]}.")
        assert [hint.split("`")[1] for _, hint in find_jump_hints(words, False)] == ["return"]


def test_a_type_with_names_that_mean_something_else_at_the_block_is_no_type() -> None:
    head = "from datetime import date\ndef f(text: str, date: date | None, day: date) -> object:\n"
    for output, effects in {"<:date>": "direct", "<:day>": "direct", "<:text>": "answer"}.items():
        program = f'{head}    """natural\n    Put a part of <text> into {output}.\n    """\n    return day\n'
        (authority,) = compile_text(program).authorities
        assert authority.effects == effects, output
