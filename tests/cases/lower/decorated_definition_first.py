# compiled by njc 0.3.0 from decorated_definition_first.njpy (sha256 93a7278d7da4b0b8, abi 1)
# do not edit: change decorated_definition_first.njpy and build again
import njrt as _nj


# Registered under its own name.
@register
def summarize(text):
    try:
        _nj.run(
            """natural
    Return a summary of <text>.
    """,
            lambda: (text,),
            labels="return",
            at="decorated_definition_first.njpy:4",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value


# njc lines 1=1 6:1 10=4 12:5 14=4 20=7 sha256 b1948cfcccb49964
