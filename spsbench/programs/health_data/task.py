"""One talk: a condition, a medication whose dose comes later, a weight in tonnes, and a farewell."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def talk(program: ModuleType) -> tuple[Any, list[str], list[str]]:
    left = iter(
        [
            "I have had asthma since I was a child.",
            "And I take ibuprofen, sometimes.",
            "400 mg at a time.",
            "On the scales this morning I read 0.0815 tonnes.",
            "No, that's it, goodbye.",
            "I also have diabetes.",
        ]
    )
    record = program.HealthRecord(conditions=["hay fever"])
    questions = program.interview(left, record)
    return record, questions, list(left)


TASK = Task(
    "health_data",
    (
        Case(
            "talk",
            talk,
            (
                Check(
                    "asthma is added to the conditions",
                    lambda seen: seen[0].conditions == ["hay fever", "asthma"],
                ),
                Check(
                    "there is one medication",
                    lambda seen: list(seen[0].medications) == ["ibuprofen"],
                ),
                Check(
                    "its dose is 400 mg", lambda seen: seen[0].medications["ibuprofen"] == "400 mg"
                ),
                Check("the weight is 81.5 kg", lambda seen: abs(seen[0].weight_kg - 81.5) < 1e-6),
                Check(
                    "one question was asked, for the dose",
                    lambda seen: len(seen[1]) == 1 and isinstance(seen[1][0], str),
                ),
                Check(
                    "the farewell ended the talk",
                    lambda seen: seen[2] == ["I also have diabetes."],
                ),
            ),
        ),
    ),
)
