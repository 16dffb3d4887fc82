"""Tables on a terminal that is too narrow for them: nothing is cut, columns become lines."""

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table


def fitted(shown: RenderableType, console: Console) -> RenderableType:
    """Return what is shown without cut words: each row of a table that is too wide becomes lines of head and value.

    A table of ten columns at 80 characters had cells such as "1…". Tables that fit, and other things, stay as they are.
    """
    if isinstance(shown, Group):
        return Group(*(fitted(item, console) for item in shown.renderables))
    if not isinstance(shown, Table) or _least_width(shown, console) <= console.width:
        return shown
    lines = Table("", "", show_header=False, title=shown.title, title_justify=shown.title_justify)
    lines.title_style, lines.caption, lines.caption_justify = shown.title_style, shown.caption, shown.caption_justify
    lines.columns[1].overflow = "fold"
    heads = [column.header for column in shown.columns]
    for cells in zip(*(column.cells for column in shown.columns), strict=True):
        for head, cell in zip(heads, cells, strict=True):
            if cell != "":
                lines.add_row(head, cell)
        lines.add_section()
    return lines


def _least_width(table: Table, console: Console) -> int:
    """Return the width at which no word is cut."""
    unlimited = console.options.update_width(10_000)
    _, right, _, left = table.padding
    cells = 0
    for column in table.columns:
        contents = [column.header, *column.cells]
        widths = [Measurement.get(console, unlimited, item) for item in contents]
        cells += max(item.maximum if column.no_wrap else item.minimum for item in widths) + left + right
    return cells + len(table.columns) + 1
