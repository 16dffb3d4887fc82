"""Masses and inertias that a robot's file lacks, or that no body can have."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from contact_mpc.importing.xml_numbers import is_positive, read_numbers, read_pose, write_numbers
from contact_mpc.model.urdf import DRAKE

DENSITY_KG_M3 = 1000.0  # of links without mass
LEAST_MASS_KG = 1e-3
GYRATION_M = 0.01  # radius of gyration of a link without shapes
ENTRIES = (("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2))
SPARE = 1e-6  # by which a mended sum of moments exceeds the largest: rounding of the six numbers


def fill_masses(robot: ET.Element, path: Path) -> list[str]:
    """Give a mass to links that move by themselves and have none, nor anything fixed to them."""
    children: dict[str, list[str]] = {}
    moving = []
    for joint in robot.findall("joint"):
        ends = [item.get("link", "") for item in (joint.find("parent"), joint.find("child")) if item is not None]
        if len(ends) == 2 and joint.get("type") == "fixed":
            children.setdefault(ends[0], []).append(ends[1])
        elif len(ends) == 2:
            moving.append(ends[1])
    links = {link.get("name", ""): link for link in robot.findall("link")}
    notes = []
    for name in (name for name in moving if name in links):
        rigid, todo = [], [name]
        while todo:
            rigid.append(todo.pop())
            todo += [child for child in children.get(rigid[-1], []) if child in links and child not in rigid]
        if not any(_has_mass(links[item]) for item in rigid):
            mass = _add_inertia(links[name], path)
            notes.append(
                f"link '{name}' has no mass; assumed {1e3 * mass:.1f} g (its shapes at {DENSITY_KG_M3:g} kg/m^3)"
            )
    return notes


def mend_inertias(robot: ET.Element, path: Path) -> list[str]:
    """Mend inertias in place where two principal moments are less than the third; return what was changed.

    The moments A <= B <= C of a body are integrals of squares: A + B >= C, which engines insist on. A and B are raised
    alike until it holds.
    """
    notes = []
    for link in robot.findall("link"):
        name, element = f"{path}: link '{link.get('name')}'", link.find("inertial/inertia")
        if element is None:
            continue
        inertia = np.zeros((3, 3))
        for key, i, k in ENTRIES:
            inertia[i, k] = inertia[k, i] = read_numbers(element, key, "0", name)[0]
        moments, axes = np.linalg.eigh(inertia)
        lack = moments[2] - moments[0] - moments[1]
        if moments[0] < 0.0 or lack <= 0.0:  # what is negative is refused by the reader of URDFs
            continue
        raised = moments + np.array([0.5, 0.5, 0.0]) * (lack + SPARE * moments[2])
        for key, i, k in ENTRIES:
            element.set(key, repr(float((axes * raised @ axes.T)[i, k])))
        notes.append(
            f"link '{link.get('name')}' has an inertia that no body can have, principal moments "
            f"{', '.join(f'{value:.3g}' for value in moments)} kg m^2; the smaller two raised by {0.5 * lack:.2g}"
        )
    return notes


def _has_mass(link: ET.Element) -> bool:
    return link.find("inertial/mass") is not None and is_positive(link.find("inertial/mass"), "value")


def _add_inertia(link: ET.Element, path: Path) -> float:
    """Add the inertia of a ball of the shapes' mass at their middle, and return that mass, kg."""
    for old in link.findall("inertial"):
        link.remove(old)
    name, volumes, centres = f"{path}: link '{link.get('name')}'", [0.0], [np.zeros(3)]
    for collision in link.findall("collision"):
        volumes.append(_volume(collision, name))
        centres.append(read_pose(collision.find("origin"), name).p)
    total = sum(volumes)
    mass = max(LEAST_MASS_KG, DENSITY_KG_M3 * total)
    centre = sum((v * c for v, c in zip(volumes, centres, strict=True)), np.zeros(3)) / max(total, 1e-12)
    radius = max(GYRATION_M, (3.0 * total / (4.0 * np.pi)) ** (1.0 / 3.0))
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=write_numbers(centre), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(mass))
    moment = repr(0.4 * mass * radius**2)
    ET.SubElement(inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
    return mass


def _volume(collision: ET.Element, name: str) -> float:
    for shape in collision.findall("geometry/*"):
        kind = str(shape.tag).replace(DRAKE, "")
        if kind == "box":
            return float(np.prod(read_numbers(shape, "size", "0 0 0", name)))
        radius, length = (read_numbers(shape, key, "0", name)[0] for key in ("radius", "length"))
        ball = 4.0 / 3.0 * np.pi * radius**3
        return float(
            {"sphere": ball, "capsule": ball + np.pi * radius**2 * length}.get(kind, np.pi * radius**2 * length)
        )
    return 0.0
