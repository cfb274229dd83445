"""What a perfect model says for health_data, and a slip."""

from typing import Any

from spsbench.script import CaseScript, Mistake, Script


def entry(**said: Any) -> dict[str, Any]:
    nothing = {
        "finished": False,
        "conditions": [],
        "medications": [],
        "weight_kg": None,
        "question": None,
    }
    return nothing | said


def news(conditions: str, medications: str, kilograms: float | None) -> str:
    return f"conditions = {conditions}\nmedications = {medications}\nweight_kg = {kilograms}"


def talk(kilograms: float) -> CaseScript:
    return CaseScript(
        (
            entry(conditions=["asthma"]),
            entry(
                medications=[{"name": "ibuprofen", "dose": None}],
                question="How much ibuprofen do you take?",
            ),
            entry(medications=[{"name": "ibuprofen", "dose": "400 mg"}]),
            entry(weight_kg=kilograms),
            entry(finished=True),
        ),
        (
            'record.conditions.append("asthma")\ncontinue',
            'record.medications["ibuprofen"] = None\nquestion = "How much ibuprofen do you take?"',
            'record.medications["ibuprofen"] = "400 mg"\ncontinue',
            f"record.weight_kg = {kilograms}\ncontinue",
            "break",
        ),
        (
            news('["asthma"]', "{}", None),
            news("[]", '{"ibuprofen": None}', None),
            'question = "How much ibuprofen do you take?"',
            news("[]", '{"ibuprofen": "400 mg"}', None),
            news("[]", "{}", kilograms),
            "break",
        ),
    )


SCRIPT = Script(
    {"talk": talk(81.5)},
    Mistake("talk", talk(815.0), fails=("the weight is 81.5 kg",)),
)
