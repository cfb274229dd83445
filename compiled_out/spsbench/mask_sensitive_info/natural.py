# compiled by njc 0.1.0 from mask_sensitive_info/natural.njpy (sha256 b86fec0c5aebaa5b, abi 1)
# do not edit: change mask_sensitive_info/natural.njpy and build again
"""Make a text fit to be shown around: what is private turns into asterisks."""

import njrt as _nj


def mask(text: str) -> str:
    masked: str
    try:
        _nj.run(
            """natural
    Store in <:masked: str> the <text> with every character of names of persons, numbers of phones and cards,
    e-mail addresses, and passwords replaced by an asterisk, and all else as it is.
    """,
            lambda: (masked, text),
            writes="masked",
            types=lambda: {"masked": str},
            labels="return",
            at="mask_sensitive_info/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return masked


# njc lines 1=1 3:1 4=2 6:2 10=5 13:6 16=5 24:9 25=10 sha256 10653e30b975b82b
