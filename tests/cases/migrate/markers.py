from nightjarpy import fn as natural_code


@natural_code
def blanks(x):
    """natural  
    Double <x>.
    """


@natural_code
def same_line(x):
    """natural Put twice <x> into <:y>."""
    return y


@natural_code
def same_line_and_more(x):
    f"""natural: take <x>,
    {x + 1!r} and <:y>.
    """
    return y


@natural_code
def docstring(x):
    """natural language processing of a text."""
    r'''prompt
    Sum up <x>\d.
    '''


@natural_code
def short(x):
    "natural\nDouble <x>."
    "natural\n" "Halve <x>."
