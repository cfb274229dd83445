# compiled by njc 0.3.0 from asking_ahead.njpy (sha256 ab0d7babb82f71c1, abi 1)
# do not edit: change asking_ahead.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
from typing import Literal

Topic = Literal["bill", "praise", "other"]


def sort_mails(box: dict[str, str], rules: tuple[str, ...]) -> dict[str, Topic]:
    topics: dict[str, Topic] = {}
    _nj_for_8 = _nj.ahead(box.items(), "sender, mail", 8)
    for sender, mail in _nj_for_8:
        topic: Topic
        _nj.run(
            """natural(ahead=8)
        Put the <:topic: Topic> of <mail> by <sender> by the <rules>.
        """,
            lambda: (topic, mail, sender, rules),
            writes="topic",
            types=lambda: {"topic": Topic},
            at="asking_ahead.njpy:9",
            effects="answer",
            ahead=_nj_for_8,
        )
        topics[sender] = topic
    return topics


_nj_for_16 = _nj.ahead(range(1, 4), "number", 2)
for number in _nj_for_16:
    _nj.run(
        """natural(ahead=2, model="openai/gpt-4.1")
    Put a <:word: str> that rhymes with <number>.
    """,
        lambda: (word, number),
        writes="word",
        types=lambda: {"word": str},
        at="asking_ahead.njpy:17",
        effects="answer",
        model="openai/gpt-4.1",
        ahead=_nj_for_16,
    )
    print(word)


# njc lines 1=1 5:1 12=8 13:8 15=9 17:10 19=9 26:12 30=16 31:16 33=17 34:18 36=17 44:20 45=21 sha256 87ed2de5784c4dde
