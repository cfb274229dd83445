# compiled by njc 0.3.0 from mask_sensitive_info/natural.njpy (sha256 b86fec0c5aebaa5b, options cc2447ed8334793a, code b9af4030884dfefe, abi 1)
# do not edit: change mask_sensitive_info/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Make a text fit to be shown around: what is private turns into asterisks."""

import njrt as _nj


def mask(text: str) -> str:
    # natural
    # Store in <:masked: str> the <text> with every character of names of persons, numbers of phones and cards,
    # e-mail addresses, and passwords replaced by an asterisk, and all else as it is.
    masked: str
    llm = _nj.llm_at("mask_sensitive_info/natural.njpy:5")
    masked = llm(
        f"Mask the text by replacing names, numbers, cards, e-mails, and passwords with asterisks.\n\n{text}",
        str,
    )
    _nj.check_type("mask_sensitive_info/natural.njpy:5", "masked", masked, lambda: str)
    # end of natural block
    return masked


# njc lines 1=1 4:1 5=2 7:2 11=5 21:9 22=10 sha256 dc663abfc39384c3
