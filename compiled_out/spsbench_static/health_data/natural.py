# compiled by njc 0.3.0 from health_data/natural.njpy (sha256 72a4e2bf8bf4a88b, options cc2447ed8334793a, abi 1)
# do not edit: change health_data/natural.njpy and build again
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
    for message in messages:
        question: str
        try:
            _nj.run(
                """natural
        Enter into <record> what the patient says in <message>. Conditions and medications are lower-case
        words; a medication has its dose, such as "20 mg", or None as long as it is not known.
        Break if the patient has nothing more to say.
        Continue if no dose is missing. Else save a <:question: str> to the patient that asks for it.
        """,
                lambda: (record, message, question),
                writes="question",
                types=lambda: {"question": str},
                labels="break continue",
                at="health_data/natural.njpy:17",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        questions.append(question)
    return questions


# njc lines 1=1 4:1 6=3 7:3 22=17 25:18 30=17 40:23 42=25 sha256 7d3d14e713270035
