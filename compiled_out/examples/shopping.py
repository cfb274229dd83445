# compiled by njc 0.3.0 from shopping.njpy (sha256 c83cf9d72e2f79f1, abi 1)
# do not edit: change shopping.njpy and build again
# A shopping list: a block adds what each message asks to buy, and breaks out of the loop.
# njc: policy=auto

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
            at="shopping.njpy:11",
            policy="auto",
        )
    except _nj.Break:
        break
print(shopping)


# njc lines 1=1 3:1 6=4 8:4 16=11 18:12 20=11 27:14 28=15 sha256 0081b12fcfd2bb7c
