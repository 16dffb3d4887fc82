"""Write licences.md: the licence of every package that this one and its extras install, as the packages state it.

Run by `make licences`, in the environment that make installed.
"""

import re
import sys
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "contact_mpc"
LONGEST = 60  # characters of a licence's name; longer is its text
SHORT = {
    "Apache Software License": "Apache-2.0", "BSD License": "BSD", "MIT License": "MIT",
    "ISC License (ISCL)": "ISC", "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}  # fmt: skip
STATED_BY_PROJECT = {  # where the wheel says nothing
    "cmeel-qhull": "Qhull", "ros-fastcdr": "Apache-2.0", "ros-fastrtps": "Apache-2.0", "setuptools": "MIT",
}  # fmt: skip
NOTES = {
    "casadi": "dynamically linked by the extra `contact-implicit` alone; LGPL: may be replaced by another build",
    "libigl": "its booleans, an oracle of tests alone, are of CGAL (GPL)",
    "drake": "BSD-3-Clause; its wheel carries solvers of others, listed in its share/doc",
    "mosek": "proprietary; comes with drake, is not called by this package, and needs a licence only when it is used",
}
HEAD = """# Licences

contact_mpc itself: BSD-3-Clause. Written by `make licences` from what the installed packages say of themselves, in
the versions of `constraints.txt`. `extra` is where a package comes in: with the package itself (core), or one of its
extras.

Reports carry plotly.js (its basic bundle, `contact_mpc/report/assets/plotly-basic.min.js`): MIT, copyright Plotly, Inc.

| package | version | licence | extra | note |
|-|-|-|-|-|
"""


def main() -> None:
    """Write the table beside this file."""
    lines = (Path(__file__).parents[1] / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines if "==" in line}
    rows = []
    for name, (found, extra) in sorted(installed().items()):
        cells = found.metadata["Name"], pins.get(name, found.version), licence_of(found), extra, NOTES.get(name, "")
        rows.append(f"| {' | '.join(cells)} |\n")
    Path(__file__).with_suffix(".md").write_text(HEAD + "".join(rows), encoding="utf-8")
    sys.stdout.write(f"docs/licences.md: {len(rows)} packages\n")


def installed() -> dict[str, tuple[metadata.Distribution, str]]:
    """Return what the package and its extras need and is installed, by name, each with where it first comes in."""
    own = metadata.distribution(PACKAGE)
    found: dict[str, tuple[metadata.Distribution, str]] = {}
    for extra in ("", *sorted(own.metadata.get_all("Provides-Extra") or [])):
        waiting = [(text, extra) for text in own.requires or []]
        while waiting:
            text, wanted = waiting.pop()
            need = Requirement(text)
            name = canonicalize_name(need.name)
            if need.marker is not None and not need.marker.evaluate({"extra": wanted}):
                continue
            if name in found or name == canonicalize_name(PACKAGE):
                continue
            try:
                part = metadata.distribution(need.name)
            except metadata.PackageNotFoundError:
                continue
            found[name] = part, extra or "core"
            for inner in ("", *need.extras):
                waiting += [(line, inner) for line in part.requires or []]
    return found


def licence_of(part: metadata.Distribution) -> str:
    """Return the name of a package's licence: an SPDX expression, a classifier, a short text, or its package.xml's."""
    classifiers = [line.split(" :: ")[-1] for line in part.metadata.get_all("Classifier") or [] if "License ::" in line]
    named = [SHORT.get(name, name) for name in classifiers if name not in ("OSI Approved", "DFSG approved")]
    text = (part.metadata.get("License") or "").strip()
    if part.metadata.get("License-Expression"):
        return str(part.metadata["License-Expression"])
    if text not in ("", "UNKNOWN") and len(text) <= LONGEST:
        return text
    known = STATED_BY_PROJECT.get(canonicalize_name(part.metadata["Name"]), "not stated")
    return ", ".join(named or of_package_xml(part)) or re.sub(r"\s+", " ", text)[:LONGEST] or known


def of_package_xml(part: metadata.Distribution) -> list[str]:
    """Return the licences that the ROS packages in a wheel state."""
    files = [Path(str(file.locate())) for file in part.files or [] if file.name == "package.xml"]
    return sorted({(tag.text or "").strip() for file in files for tag in ET.parse(file).getroot().iter("license")})


if __name__ == "__main__":
    main()
