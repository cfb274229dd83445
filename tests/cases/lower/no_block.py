# compiled by njc 0.3.0 from no_block.njpy (sha256 e192d6f0dbcc7d7d, abi 1)
# do not edit: change no_block.njpy and build again
"""natural language processing."""

x = 1


# njc lines 1=1 3:1 6=4 sha256 0462182e3b2cbf60
