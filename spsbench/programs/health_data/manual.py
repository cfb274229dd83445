"""A chat that helps a patient to fill in a health record."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel

from spsbench.llm import llm


@dataclass
class HealthRecord:
    conditions: list[str] = field(default_factory=list)
    medications: dict[str, str | None] = field(default_factory=dict)
    weight_kg: float | None = None


class Medication(BaseModel):
    name: str
    dose: str | None


class Entry(BaseModel):
    finished: bool
    conditions: list[str]
    medications: list[Medication]
    weight_kg: float | None
    question: str | None


def interview(messages: Iterable[str], record: HealthRecord) -> list[str]:
    questions = []
    for message in messages:
        entry = llm(
            f"A patient's health record so far: {record}\nThe patient says: {message}\n\n"
            "Give what is new or changed by this: conditions and medications in lower-case words, each medication "
            'with its dose, such as "20 mg", or null as long as it is not known, and the weight in kilograms. '
            "Say whether the patient has nothing more to say. If a dose is missing, ask the patient a question.",
            Entry,
        )
        if entry.finished:
            break
        record.conditions += entry.conditions
        record.medications |= {medication.name: medication.dose for medication in entry.medications}
        if entry.weight_kg is not None:
            record.weight_kg = entry.weight_kg
        if entry.question is not None:
            questions.append(entry.question)
    return questions
