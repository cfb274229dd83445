"""One character, field by field."""

from spsbench.task import Case, Check, Task

TASK = Task(
    "character_builder",
    (
        Case(
            "mirel",
            lambda program: (
                program.Character,
                program.build(
                    "Mirel turned sixty last winter. She mends bones and fevers, and never leaves the house "
                    "without her lantern and a flask."
                ),
            ),
            (
                Check(
                    "it is a Character called Mirel",
                    lambda seen: type(seen[1]) is seen[0] and seen[1].name == "Mirel",
                ),
                Check("she is a healer", lambda seen: seen[1].calling == "healer"),
                Check("she is 60", lambda seen: seen[1].age == 60),
                Check(
                    "she carries a lantern and a flask",
                    lambda seen: sorted(seen[1].items) == ["flask", "lantern"],
                ),
            ),
        ),
    ),
)
