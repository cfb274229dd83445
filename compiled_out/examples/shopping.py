# compiled by njc 0.3.0 from shopping.njpy (sha256 4821495efa69b8c0, abi 1)
# do not edit: change shopping.njpy and build again
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
            at="shopping.njpy:8",
        )
    except _nj.Break:
        break
print(shopping)


# njc lines 1=1 5:1 13=8 15:9 17=8 23:11 24=12 sha256 2777d8df4bb79b4a
