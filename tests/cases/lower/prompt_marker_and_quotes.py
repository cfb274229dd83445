# compiled by njc 0.3.0 from prompt_marker_and_quotes.njpy (sha256 fba82cade5d55284, abi 1)
# do not edit: change prompt_marker_and_quotes.njpy and build again
import njrt as _nj

_nj.run(
    '''prompt  	
Print \''' and "hello".
''',
    lambda: (),
    at="prompt_marker_and_quotes.njpy:1",
)


# njc lines 1=1 7:2 9=1 12=4 sha256 e32668e2027e4461
