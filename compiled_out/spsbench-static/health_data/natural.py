# compiled by njc 0.1.0 from health_data/natural.njpy (sha256 72a4e2bf8bf4a88b, options cc2447ed8334793a, code bde5d5599924c34a, abi 1)
# do not edit: change health_data/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 6 checks of its program (answered by a script)
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
        # natural
        # Enter into <record> what the patient says in <message>. Conditions and medications are lower-case
        # words; a medication has its dose, such as "20 mg", or None as long as it is not known.
        # Break if the patient has nothing more to say.
        # Continue if no dose is missing. Else save a <:question: str> to the patient that asks for it.
        question: str
        llm = _nj.llm_at("health_data/natural.njpy:17")
        question = llm(
            f"What does the patient say about {message}?\n\n{record.conditions}, {record.medications}, {record.weight_kg}",
            str,
        )
        # end of natural block
        questions.append(question)
    return questions


# njc lines 1=1 4:1 6=3 7:3 22=17 33:23 35=25 sha256 65f5d9bcd3418d34
