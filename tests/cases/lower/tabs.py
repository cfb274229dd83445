# compiled by njc 0.1.0 from tabs.njpy (sha256 eea72c4e60e81167, abi 1)
# do not edit: change tabs.njpy and build again
import njrt as _nj


def f(x):
	if x:
		try:
			_nj.run(
				"""natural
		Improve <:x>.
		""",
				lambda: (x,),
				writes="x",
				labels="return",
				at="tabs.njpy:3",
			)
		except _nj.Return as _nj_r:
			return _nj_r.value
	return x


# njc lines 1=1 6:1 9=3 11:4 13=3 20:6 21=7 sha256 afaa61f669b15105
