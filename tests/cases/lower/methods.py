# compiled by njc 0.1.0 from methods.njpy (sha256 43fbe56e81ced1a5, abi 1)
# do not edit: change methods.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


class Base:
    def describe(self) -> str:
        return "base"


class Child(Base):
    def describe(self) -> str:
        text: str
        try:
            _nj.run(
                """natural
        Improve on what <super> says of <self>, and save it as <:text: str>.
        """,
                lambda: (super, self, text, __class__),
                writes="text",
                types=lambda: {"text": str},
                labels="return",
                cls="Child",
                me="self",
                at="methods.njpy:8",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value
        return text

    def hide(self, __value, /):
        def inner():
            try:
                _nj.run(
                    """natural
            Store <__value> in <:self.__hidden>.
            """,
                    lambda: (__value, self),
                    writes="self.__hidden",
                    labels="return",
                    cls="Child",
                    at="methods.njpy:15",
                )
            except _nj.Return as _nj_r:
                return _nj_r.value

        inner()


# njc lines 1=1 7:1 15=8 18:9 20=8 30:11 35=15 37:16 39=15 47:18 49=20 sha256 a3bbe7c050b21391
