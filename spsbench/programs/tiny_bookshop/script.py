"""What a perfect model says for tiny_bookshop, and a slip."""

from spsbench.script import Lines, Script, Slip

SCRIPT = Script(
    {
        "cook": Lines((1,), ("book = books[1]",)),
        "dreamer": Lines((0,), ("book = books[0]",)),
        "lawyer": Lines((-1,), ("book = None",)),
    },
    Slip("dreamer", Lines((2,), ("book = books[2]",)), fails=("it is the novel",)),
)
