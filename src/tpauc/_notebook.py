"""Results as small HTML tables, which notebooks show in place of their text.

There are no scripts, no classes and no colours but a translucent grey, so that a table is readable on light and on dark
pages. All texts are escaped: names of models and labels come from users.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em .8em;border-bottom:1px solid #8886"
_NUMBER = f"{_CELL};text-align:right"
_TEXT = f"{_CELL};text-align:left"


def html_table(
    title: str, rows: Sequence[Sequence[str]], *, header: Sequence[str] = (), notes: Sequence[str] = ()
) -> str:
    """Return a table with its title above it and notes below it; the first column is text, the others are numbers.

    Parameters
    ----------
    title : str
    rows : sequence of sequences of str
        The first cell of a row is its name.
    header : sequence of str, optional
        The names of the columns.
    notes : sequence of str, optional
        One line each; empty ones are left out.

    Examples
    --------
    >>> html_table("a < b", [["TPAUC", "0.5"]])[:56]
    '<div><strong>a &lt; b</strong><table style="border-colla'
    """
    lines = [f"<div><strong>{escape(title)}</strong>", f'<table style="{_TABLE}">']
    lines += [f"<thead>{_row('th', header)}</thead>"] if header else []
    lines += ["<tbody>", *(_row("td", row) for row in rows), "</tbody></table>"]
    lines += [f"<div>{escape(note)}</div>" for note in notes if note]
    return "".join([*lines, "</div>"])


def _row(tag: str, cells: Sequence[str]) -> str:
    first = f'<th scope="row" style="{_TEXT}">' if tag == "td" else f'<th scope="col" style="{_TEXT}">'
    style = f'<{tag} style="{_NUMBER}">' if tag == "td" else f'<th scope="col" style="{_NUMBER}">'
    shown = [
        f"{style if number else first}{escape(cell)}</{tag if number else 'th'}>" for number, cell in enumerate(cells)
    ]
    return f"<tr>{''.join(shown)}</tr>"


def limits_text(low: float, high: float) -> str:
    """Return the limits of an interval with four decimals.

    >>> limits_text(0.25, 1.0)
    '0.2500 to 1.0000'
    """
    return f"{low:.4f} to {high:.4f}"
