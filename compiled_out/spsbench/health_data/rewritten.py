# compiled by njc 0.3.0 from health_data/rewritten.njpy (sha256 cb8570b591674ddd, abi 1)
# do not edit: change health_data/rewritten.njpy and build again
# pyright: reportUnboundVariable=false
"""A chat that helps a patient to fill in a health record."""

import njrt as _nj
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class HealthRecord:
    conditions: list[str] = field(default_factory=list)
    medications: dict[str, str | None] = field(default_factory=dict)
    weight_kg: float | None = None


def interview(messages: Iterable[str], record: HealthRecord) -> list[str]:
    questions = []
    missing: tuple[str, ...] = ()
    for message in messages:
        conditions: list[str]
        medications: dict[str, str | None]
        weight_kg: float | None
        try:
            _nj.run(
                """natural
        Gather what the patient says in <message>: <:conditions: list[str]> and
        <:medications: dict[str, str | None]>, both in lower-case words, each medication with its dose, such as
        "20 mg", or None as long as it is not known, and the weight as <:weight_kg: float | None> in kilograms.
        A dose alone is that of the <missing> medication. Break if the patient has nothing more to say.
        """,
                lambda: (message, conditions, medications, weight_kg, missing),
                writes="conditions medications weight_kg",
                types=lambda: {
                    "conditions": list[str],
                    "medications": dict[str, str | None],
                    "weight_kg": float | None,
                },
                labels="break",
                at="health_data/rewritten.njpy:18",
                effects="answer",
            )
        except _nj.Break:
            break
        record.conditions += conditions
        record.medications |= medications
        record.weight_kg = weight_kg or record.weight_kg
        missing = tuple(name for name, dose in record.medications.items() if dose is None)
        if missing:
            question: str
            _nj.run(
                """natural
            Ask the patient for the dose of the <missing> medication: <:question: str>.
            """,
                lambda: (missing, question),
                writes="question",
                types=lambda: {"question": str},
                at="health_data/rewritten.njpy:29",
                effects="answer",
            )
            questions.append(question)
    return questions


# njc lines 1=1 4:1 6=3 7:3 23=18 28:19 33=18 46:24 52=29 54:30 56=29 62:32 64=34 sha256 224fc8cf28c9b179
