# compiled by njc 0.3.0 from shopping.njpy (sha256 40c33249f63588ca, abi 1)
# do not edit: change shopping.njpy and build again
# A shopping list: a block adds what each message asks to buy, and breaks out of the loop.

import njrt as _nj

messages = [
    "Two litres of milk and some apples, please.",
    "Oh, and bread. Goodbye!",
    "By the way, did you see the match yesterday?",
]
shopping: list[str] = []
for message in messages:
    try:
        _nj.run(
            """natural
    Append to <shopping> each thing that <message> asks to buy. Break if it says goodbye.
    """,
            lambda: (shopping, message),
            labels="break",
            at="shopping.njpy:10",
        )
    except _nj.Break:
        break
print(shopping)


# njc lines 1=1 3:1 5=3 7:3 15=10 17:11 19=10 25:13 26=14 sha256 611a1c1a2f34109f
