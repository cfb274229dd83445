"""What a perfect model says for fact_checking, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def lines(**verdicts: bool) -> CaseScript:
    claims = [claim.replace("_", " ") + "." for claim in verdicts]
    return CaseScript(
        (claims, *verdicts.values()),
        (
            f"claims = {claims!r}",
            *(
                f"results.append({{'claim': claim, 'is_true': {verdict}}})"
                for verdict in verdicts.values()
            ),
        ),
        (f"claims = {claims!r}", *(f"is_true = {verdict}" for verdict in verdicts.values())),
    )


SCRIPT = Script(
    {
        "geography": lines(
            Lisbon_is_the_capital_of_Portugal=True,
            The_Danube_flows_into_the_Baltic_Sea=False,
            Iceland_has_volcanoes=True,
        ),
        "biology": lines(Whales_are_mammals=True, Penguins_are_fish=False),
    },
    Mistake(
        "geography",
        lines(
            Lisbon_is_the_capital_of_Portugal=True,
            The_Danube_flows_into_the_Baltic_Sea=True,
            Iceland_has_volcanoes=True,
        ),
        fails=("they are judged right",),
    ),
)
