# compiled by njc 0.3.0 from tabs.njpy (sha256 eea72c4e60e81167, abi 1)
# do not edit: change tabs.njpy and build again
import njrt as _nj


def f(x):
	if x:
		_nj.run(
			"""natural
		Improve <:x>.
		""",
			lambda: (x,),
			writes="x",
			at="tabs.njpy:3",
		)
	return x


# njc lines 1=1 6:1 9=3 10:4 12=3 16:6 17=7 sha256 9792197b535773b8
