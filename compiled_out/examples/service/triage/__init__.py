# compiled by njc 0.3.0 from service/triage/__init__.py (sha256 3ee4b9b8f5fda468, abi 1)
# do not edit: change service/triage/__init__.py and build again
"""A web service that sorts messages of customers by a natural block; see the README beside this folder."""


# njc lines 1=1 3:1 4=2 sha256 9ff2ec4046347ac3
