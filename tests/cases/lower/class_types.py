# compiled by njc 0.3.0 from class_types.njpy (sha256 9d320bf8c0c88f16, abi 1)
# do not edit: change class_types.njpy and build again
import njrt as _nj


class Shop:
    _nj.run(
        """natural
    Choose a <:first: Item>, a <:name: str> and <:stock: "list[Item]">.
    """,
        lambda: (),
        writes="first name stock",
        types=lambda: {"first": "Item", "name": str, "stock": "list[Item]"},
        cls="Shop",
        ns=locals(),
        own="first name stock",
        at="class_types.njpy:2",
    )

    Kind = str

    class Item:
        pass

    _nj.run(
        """natural
    Choose a <:second: Item>, its <:kind: Kind> and a <:last: dict[Kind, Later]>.
    """,
        lambda: (),
        writes="second kind last",
        types=lambda Item=Item, Kind=Kind: {
            "second": Item,
            "kind": Kind,
            "last": "dict[Kind, Later]",
        },
        cls="Shop",
        ns=locals(),
        own="second kind last",
        at="class_types.njpy:11",
    )

    class Later:
        pass


# njc lines 1=1 6:1 8=2 9:3 11=2 19:5 26=11 27:12 29=11 41:14 44=17 sha256 8daf18ce6a08add5
