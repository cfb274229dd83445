import nightjarpy as nj


@nj.fn
def page(title, b, total):
    f"""natural
    Write a <:html> page with <h1><title></h1>, a <br>, some <b>bold</b> text, and 1 << 3 = {1 << 3}.
    <<title> follows; a<b and List<<int>> too. See <total.sum>, and <:count: int>.
    """
    return html


def plain():
    """natural
    Nobody carried out <this>.
    """
