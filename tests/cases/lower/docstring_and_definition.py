# compiled by njc 0.3.0 from docstring_and_definition.njpy (sha256 736c5e216ae6d3de, abi 1)
# do not edit: change docstring_and_definition.njpy and build again
"""A docstring."""

import njrt as _nj


class Box:
    """Another."""

    def open(self):
        _nj.run(
            """natural
        Open <self>.
        """,
            lambda: (self,),
            cls="Box",
            at="docstring_and_definition.njpy:8",
        )


# njc lines 1=1 3:1 4=2 6:2 13=8 14:9 16=8 20=11 sha256 9d80f9890743fc30
