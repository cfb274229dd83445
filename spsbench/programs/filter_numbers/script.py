"""What a perfect model says for filter_numbers, and a slip."""

from spsbench.script import Lines, Script, Slip

SCRIPT = Script(
    {
        "birth years": Lines(
            ([1987, 2019],),
            ("filtered_numbers = [number for number in numbers if 1905 < number < 2027]",),
        ),
        "fame": Lines(
            ([1984, 90210],),
            ("filtered_numbers = [number for number in numbers if number in (1984, 90210)]",),
        ),
        "errors": Lines(
            ([404, 503],),
            ("filtered_numbers = [number for number in numbers if 400 <= number < 600]",),
        ),
    },
    Slip(
        "errors",
        Lines(
            ([404, 301, 503],),
            ("filtered_numbers = [number for number in numbers if number > 300]",),
        ),
        fails=("[404, 503] are left",),
    ),
)
