# compiled by njc 0.2.0 from prompt_marker_and_quotes.njpy (sha256 a015f99735a52231, abi 1)
# do not edit: change prompt_marker_and_quotes.njpy and build again
import njrt as _nj

_nj.run(
    '''prompt  	
Say \''' and "hello".
''',
    lambda: (),
    at="prompt_marker_and_quotes.njpy:1",
)


# njc lines 1=1 7:2 9=1 12=4 sha256 fe5ac60ff8ab44b8
