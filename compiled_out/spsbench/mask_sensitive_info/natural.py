# compiled by njc 0.3.0 from mask_sensitive_info/natural.njpy (sha256 b86fec0c5aebaa5b, abi 1)
# do not edit: change mask_sensitive_info/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Make a text fit to be shown around: what is private turns into asterisks."""

import njrt as _nj


def mask(text: str) -> str:
    masked: str
    _nj.run(
        """natural
    Store in <:masked: str> the <text> with every character of names of persons, numbers of phones and cards,
    e-mail addresses, and passwords replaced by an asterisk, and all else as it is.
    """,
        lambda: (masked, text),
        writes="masked",
        types=lambda: {"masked": str},
        at="mask_sensitive_info/natural.njpy:5",
        effects="answer",
    )
    return masked


# njc lines 1=1 4:1 5=2 7:2 11=5 13:6 16=5 22:9 23=10 sha256 4b78f614d22c3dfc
