"""What a perfect model says for tiny_bookshop, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

SCRIPT = Script(
    {
        "cook": CaseScript((1,), ("book = books[1]",)),
        "dreamer": CaseScript((0,), ("book = books[0]",)),
        "lawyer": CaseScript((-1,), ("book = None",)),
    },
    Mistake("dreamer", CaseScript((2,), ("book = books[2]",)), fails=("it is the novel",)),
)
