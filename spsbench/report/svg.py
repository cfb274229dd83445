"""Matplotlib figures as SVG inside an HTML page, in the page's colors.

    COLORS = make_placeholders("ink", "bar")               {"ink": "#000001", "bar": "#000002"}
    axes.barh(0, 1, color=COLORS["bar"])
    render_svg(figure, "Pass rate", COLORS, {})            <svg ... fill: var(--bar) ...>

The page's style defines `--ink` and `--bar`, so that drawings follow a light or dark setting. Text
remains text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def make_placeholders(*names: str) -> Mapping[str, str]:
    """Make a placeholder color for each style variable, which `render_svg` replaces."""
    return {name: f"#0000{index:02x}" for index, name in enumerate(names, 1)}


def render_svg(
    figure: Figure,
    description: str,
    colors: Mapping[str, str],
    style: Mapping[str, Any],
    mark_descriptions: Sequence[str] = (),
) -> str:
    """Render a figure, to the same bytes each time.

    `description` is its text alternative; the marks with the group id `marks` get
    `mark_descriptions` in order.
    """
    import matplotlib

    written = io.BytesIO()
    settings: dict[Any, Any] = {**style, "svg.fonttype": "none", "svg.hashsalt": description}
    with matplotlib.rc_context(settings):
        figure.savefig(
            written, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    root = ElementTree.fromstring(written.getvalue())
    for parent in root.iter():
        for group in parent.findall("./*[@id='marks']"):
            uses = [*group.iter("{http://www.w3.org/2000/svg}use")]
            for use, text in zip(uses, mark_descriptions, strict=True):
                ElementTree.SubElement(use, "title").text = text
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: text for name, text in element.attrib.items()}
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": description}
    text = ElementTree.tostring(root, encoding="unicode")
    referenced = set(re.findall(r"#(\w+)", text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in referenced else "", text)
    for name, color in colors.items():
        text = text.replace(color, f"var(--{name})")
    return re.sub(r"\s*\n\s*", " ", text)
