"""The XML of a URDF, parsed within bounds: what is too long, too deep or has too many links is refused at once."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

from contact_mpc.errors import ModelError
from contact_mpc.settings.file_access import read_bounded

MOST_BYTES = 20_000_000
DEEPEST = 50  # elements within each other
MOST_LINKS = 1000  # of one file; links and joints are compared with each other


def parse_robot(path: Path) -> ET.Element:
    """Return the root element of a URDF file.

    Raises
    ------
    ModelError
        The file is missing, not XML, or larger than this package reads.
    """
    content, root, depth = read_bounded(path, MOST_BYTES, ModelError), None, 0
    try:
        for event, element in ET.iterparse(io.BytesIO(content), ("start", "end")):
            root = element if root is None else root
            depth += 1 if event == "start" else -1
            if depth > DEEPEST:
                raise ModelError(f"{path}: <{element.tag}> is nested deeper than the {DEEPEST} levels that are allowed")
    except (ET.ParseError, LookupError, ValueError) as error:  # the last two: of an encoding
        raise ModelError(f"{path}: not valid XML: {error}") from error
    if root is None:
        raise ModelError(f"{path}: not valid XML: it is empty")
    for tag in ("link", "joint"):
        if len(root.findall(tag)) > MOST_LINKS:
            raise ModelError(f"{path}: {len(root.findall(tag))} {tag}s; at most {MOST_LINKS} are allowed")
    return root
