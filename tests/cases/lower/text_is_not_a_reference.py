# compiled by njc 0.3.0 from text_is_not_a_reference.njpy (sha256 3362bc4fb38b5f71, abi 1)
# do not edit: change text_is_not_a_reference.njpy and build again
import njrt as _nj

a = b = 1
_nj.run(
    """natural
If a < b > 3 or 1 << 2, write <br/>, </b>, <<a>, < a >, <3>, <a b>, <a->b>, List[<a>], <-- and &lt;a&gt; into <:html>.
""",
    lambda: (a, html),
    writes="html",
    at="text_is_not_a_reference.njpy:2",
)
print(html)


# njc lines 1=1 5:1 6=2 8:3 10=2 14:5 15=6 sha256 5963437b8e711726
