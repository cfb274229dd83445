"""Six e-mails that have a category, and two that have none."""

from types import ModuleType

from spsbench.task import Case, Check, Task, catch_exception_name


def sorted_as(name: str, category: str, email: str) -> Case:
    def play(program: ModuleType) -> bool:
        return program.classify(email) is program.Category[category]

    return Case(name, play, (Check(f"it is {category}", lambda same: same),))


def refused(name: str, email: str) -> Case:
    return Case(
        name,
        lambda program: catch_exception_name(lambda: program.classify(email)),
        (Check("NoFittingCategory is raised", lambda error: error == "NoFittingCategory"),),
    )


TASK = Task(
    "email_classification",
    (
        sorted_as("chairs", "ORDER", "Could you send us four of the oak chairs by next week?"),
        sorted_as("lamp", "ORDER", "I'd like the reading lamp from page 12. Do you ship to Porto?"),
        sorted_as("wobble", "COMPLAINT", "The table came yesterday and it wobbles. I am annoyed."),
        sorted_as("scratch", "COMPLAINT", "Second delivery, second scratch. Take it back!"),
        sorted_as(
            "reminder", "INVOICE", "Your bill no. 311 says 80 euros, I already paid them in May."
        ),
        sorted_as(
            "joiner", "APPLICATION", "I am a trained joiner and would love to work with you."
        ),
        refused(
            "recipe", "Grandma's plum cake: 200 g flour, 3 eggs, and as many plums as you find."
        ),
        refused("birthday", "Happy birthday, Tom! See you at the lake on Sunday? Kiss, Mia"),
    ),
)
