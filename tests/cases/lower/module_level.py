#!/usr/bin/env python3
# compiled by njc 0.3.0 from module_level.njpy (sha256 97b65890448401b3, abi 1)
# do not edit: change module_level.njpy and build again
# Says hello.

import njrt as _nj

name = input("Who? ")
_nj.run(
    """natural
Put a greeting for <name>, in her language, into <:greeting>.
""",
    lambda: (name, greeting),
    writes="greeting",
    at="module_level.njpy:5",
)
print(greeting)


# njc lines 1:1 2=2 4:2 6=4 8:4 9=5 11:6 13=5 17:8 18=9 sha256 4888a066a3d192fd
