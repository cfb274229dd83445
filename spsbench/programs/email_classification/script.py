"""What a perfect model says for email_classification, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def sorted_as(name: str) -> CaseScript:
    return CaseScript((name,), (f"category = Category.{name}",))


REFUSED = CaseScript(("NONE",), ('raise NoFittingCategory("private mail")',))

SCRIPT = Script(
    {
        "chairs": sorted_as("ORDER"),
        "lamp": sorted_as("ORDER"),
        "wobble": sorted_as("COMPLAINT"),
        "scratch": sorted_as("COMPLAINT"),
        "reminder": sorted_as("INVOICE"),
        "joiner": sorted_as("APPLICATION"),
        "recipe": REFUSED,
        "birthday": REFUSED,
    },
    Mistake("birthday", sorted_as("APPLICATION"), fails=("NoFittingCategory is raised",)),
)
