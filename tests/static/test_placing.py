"""How generated code stands in the compiled file: as it was written, and readable."""

from __future__ import annotations

import pytest
from studio import Studio, load

LOOP = '''\
import math


def total(prices, rate):
    seen = []
    for price in prices:
        """natural
        Put <price> with <rate> into <:gross>; break if it is negative.
        """
        seen.append(gross)
    return seen
'''


def body_of(text: str) -> str:
    """Return the compiled text without its head and its line map."""
    return "\n".join(text.split("\n")[3:-2])


def test_a_block_becomes_its_code(studio: Studio) -> None:
    code = "if price<0:\n  break # enough\ngross = price*(1+rate)"
    text = studio.built(LOOP, code)
    assert body_of(text) == (
        """\
import math


def total(prices, rate):
    seen = []
    for price in prices:
        # natural
        # Put <price> with <rate> into <:gross>; break if it is negative.
        if price<0:
          break # enough
        gross = price*(1+rate)
        # end of natural block
        seen.append(gross)
    return seen

"""
    )
    assert load(text)["total"]([1, 2, -1, 3], 1) == [2, 4]


def test_the_scaffold_names_places_and_options(studio: Studio) -> None:
    source = LOOP.replace('"""natural', '"""natural(model="m", max_calls=3)')
    studio.write({"pyproject.toml": "[tool.njc]\nmax-usd = 0.5\n"})
    text = studio.built(source, 'gross = llm(f"{price} at {rate}?", float)')
    assert "import njrt as _nj\n" in text
    assert (
        '        llm = _nj.llm_at("program.njpy:7", model="m", max_calls=3, project={"max_usd": 0.5})\n'
        in text
    )


def test_imports_stay_in_the_code(studio: Studio) -> None:
    text = studio.built(LOOP, "import re\ngross = re.escape(price)")
    assert "        import re\n        gross = re.escape(price)\n        # end of" in text
    assert body_of(text).startswith("import math\n\n\ndef total")


PROGRAMS = {
    "module": ('x = 2\n"""natural\nDouble <x> into <:y>.\n"""\nprint(y)\n', "two = 2\ny = x * two"),
    "function in module": (
        'x = 2\n"""natural\nDefine <:f>, <x> times.\n"""\nprint(f(1))\n',
        "def f(n):\n    return n * x",
    ),
    "class": ('class A:\n    """natural\n    Set <:y> to one.\n    """\n', "one = 1\ny = one"),
    "one line": (
        'def f(x):\n    if x: """natural\n    Set <:y> to one.\n    """\n    return y\n',
        "y = 1",
    ),
    "semicolon": ('x = 1; """natural\nDouble <x> into <:y>.\n"""; print(y)\n', "y = x * 2"),
    "tabs": (
        'def f(x):\n\tif x:\n\t\t"""natural\n\t\tDouble <x> into <:y>.\n\t\t"""\n\t\treturn y\n',
        "if x > 1:\n    y = 2 * x\nelse:\n    y = 0",
    ),
    "nested function": (
        'def f(x):\n    """natural\n    Define <:g>, which adds <x>.\n    """\n    return g\n',
        'def g(n):\n    """Add."""\n\n    return n + x',
    ),
    "strings": (
        'def f(x):\n    """natural\n    Set <:y>.\n    """\n    return y\n',
        'y = """one\n  two\n"""',
    ),
    "last line": ('x = 1\n"""natural\nDouble <x> into <:y>.\n"""', "y = x * 2"),
    "carriage returns": (
        'x = 1\r\n"""natural\r\nDouble <x> into <:y>.\r\n"""\r\nprint(y)\r\n',
        "y = x\ny *= 2",
    ),
    "method": (
        'class A:\n    def __init__(self):\n        """natural\n        Set <:self.__x> on <self>.\n        """\n',
        "self.__x = 1",
    ),
    "async": (
        'async def f(x):\n    """natural\n    Judge <x> into <:y: bool>.\n    """\n    return y\n',
        'y = await allm(f"{x}?", bool)',
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_place(studio: Studio, name: str) -> None:
    source, code = PROGRAMS[name]
    text = studio.built(source, code)
    compile(text, "program.py", "exec")
    assert "# end of natural block" in text


def test_the_helper_has_a_name_of_its_own(studio: Studio) -> None:
    source = (
        'def f(llm):\n    """natural\n    Judge <llm> into <:y: bool>.\n    """\n    return y\n'
    )
    text = studio.built(source, 'y = llm_2(f"{llm}?", bool)')
    assert "    llm_2 = _nj.llm_at(" in text
    assert "to ask a language model: llm_2(prompt, schema)" in studio.asked[0].messages[-1].text  # type: ignore[union-attr]


def test_types_are_declared_once_said(studio: Studio) -> None:
    source = LOOP.replace("<:gross>", "<:gross: float>")
    assert "        gross: float\n        gross = 1\n" in studio.built(source, "gross = 1")
    (studio.folder / "njc.lock").unlink()
    assert "        gross: int = 1\n" in studio.built(source, "gross: int = 1")


def test_tracebacks_name_the_block(studio: Studio) -> None:
    studio.built(LOOP, "gross = price / 0")
    line = studio.read("program.py").split("\n").index("        gross = price / 0") + 1
    assert studio.njc("show", "--line", f"program.py:{line}").output == "program.njpy:7\n"


def test_live_blocks_stand_beside(studio: Studio) -> None:
    source = LOOP + LOOP.replace("total", "sums").replace('"""natural', '"""natural(mode="live")')
    text = studio.built(source, "gross = 1")
    assert text.count("_nj.run(") == 1
    assert text.count("# end of natural block") == 1
