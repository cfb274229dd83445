"""What a perfect model says for filter_numbers, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

SCRIPT = Script(
    {
        "birth years": CaseScript(
            ([1987, 2019],),
            ("filtered_numbers = [number for number in numbers if 1905 < number < 2027]",),
        ),
        "fame": CaseScript(
            ([1984, 90210],),
            ("filtered_numbers = [number for number in numbers if number in (1984, 90210)]",),
        ),
        "errors": CaseScript(
            ([404, 503],),
            ("filtered_numbers = [number for number in numbers if 400 <= number < 600]",),
        ),
    },
    Mistake(
        "errors",
        CaseScript(
            ([404, 301, 503],),
            ("filtered_numbers = [number for number in numbers if number > 300]",),
        ),
        fails=("[404, 503] are left",),
    ),
)
