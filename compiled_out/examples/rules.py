# compiled by njc 0.3.0 from rules.njpy (sha256 c00b3d6bfd9fd785, abi 1)
# do not edit: change rules.njpy and build again
# pyright: reportUnboundVariable=false
"""A function factory: the block defines a function that closes over the program's own variables."""

import njrt as _nj
from collections.abc import Callable

Rule = Callable[[str], bool]


def make_rule(wish: str) -> tuple[Rule, Callable[[int], None]]:
    shortest = 5

    def allow(length: int) -> None:
        nonlocal shortest
        shortest = length

    rule: Rule
    _nj.run(
        """natural
    Define <:rule: Rule>, a function of one word: it tells whether the word has at least <shortest> letters
    and whether this holds for it: <wish>.
    """,
        lambda: (rule, shortest, wish),
        writes="rule",
        types=lambda: {"rule": Rule},
        at="rules.njpy:15",
    )
    return rule, allow


if __name__ == "__main__":
    words = ["level", "tree", "rotor", "noon", "compiler"]
    is_palindrome, allow = make_rule("it reads the same backwards")
    print([word for word in words if is_palindrome(word)])
    allow(4)  # the rule reads the program's own `shortest`, so that it sees the change
    print([word for word in words if is_palindrome(word)])


# njc lines 1=1 4:1 6=3 7:3 20=15 22:16 25=15 30:19 39=28 sha256 05d827aeb7f74cac
