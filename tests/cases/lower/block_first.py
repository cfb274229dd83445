# compiled by njc 0.3.0 from block_first.njpy (sha256 01422404fed0e36f, abi 1)
# do not edit: change block_first.njpy and build again
import njrt as _nj

_nj.run(
    """natural
Choose a <:seed: int>.
""",
    lambda: (seed,),
    writes="seed",
    types=lambda: {"seed": int},
    at="block_first.njpy:1",
    effects="answer",
)


def roll():
    return seed * 7 % 6


# njc lines 1=1 7:2 9=1 15:4 19=8 sha256 3da91335f8010155
