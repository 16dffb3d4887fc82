"""A page to look at now: inline in a notebook, else in a browser."""

import html
import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from contact_mpc.report.page import asset, inline_json, page_head, player, write_text


@dataclass(frozen=True)
class ShownPage:
    """A self-contained HTML page; a notebook shows it in a frame of its own, `height_px` high."""

    source: str
    height_px: int = 620

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.source)}" style="width:100%;height:{self.height_px}px;border:0" '
            'sandbox="allow-scripts"></iframe>'
        )

    def show(self) -> Path | None:
        """Show the page in the cell of a notebook; elsewhere open it in a browser and return its file.

        The file is in the folder of temporary files and stays there; where there is no browser, open it by hand.
        """
        if is_notebook():
            sys.modules["IPython"].display.display(self)
            return None
        path = write_text(Path(tempfile.mkdtemp(prefix="contact_mpc-")) / "page.html", self.source)
        webbrowser.open(path.as_uri())
        return path


def is_notebook() -> bool:
    """Whether cells of a notebook, which can show HTML, run in this process; a terminal of IPython cannot."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and hasattr(shell, "kernel")


def render_animation(heading: str, caption: str, scene: dict[str, Any]) -> str:
    """Return a page that plays a scene of `contact_mpc.report.scene.animation` and holds nothing else."""
    return Template(asset("animation.html")).substitute(
        head=page_head(f"{heading}: contact_mpc"),
        player=player(heading, caption),
        scene_script=asset("scene.js"),
        page_script=asset("page.js"),
        data=inline_json({"scene": scene, "figures": {}}),
    )
