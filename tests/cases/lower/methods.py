# compiled by njc 0.3.0 from methods.njpy (sha256 43fbe56e81ced1a5, abi 1)
# do not edit: change methods.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


class Base:
    def describe(self) -> str:
        return "base"


class Child(Base):
    def describe(self) -> str:
        text: str
        _nj.run(
            """natural
        Improve on what <super> says of <self>, and save it as <:text: str>.
        """,
            lambda: (super, self, text, __class__),
            writes="text",
            types=lambda: {"text": str},
            cls="Child",
            me="self",
            at="methods.njpy:8",
        )
        return text

    def hide(self, __value, /):
        def inner():
            _nj.run(
                """natural
            Store <__value> in <:self.__hidden>.
            """,
                lambda: (__value, self),
                writes="self.__hidden",
                parts="self.__hidden",
                cls="Child",
                at="methods.njpy:15",
            )

        inner()


# njc lines 1=1 7:1 15=8 17:9 19=8 26:11 31=15 32:16 34=15 40:18 42=20 sha256 d1059ea5aac22a18
