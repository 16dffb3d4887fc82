"""An inertia that no body can have is mended at import and refused elsewhere; one that a body has is left alone."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.importing.masses import ENTRIES, mend_inertias
from contact_mpc.model.urdf import read_urdf

ABILITY_BASE = {"ixx": 978.26e-6, "ixy": 87.34e-6, "ixz": 322.99e-6, "iyy": 1244.78e-6, "iyz": 244.74e-6,
                "izz": 456.22e-6}  # fmt: skip
PLATE = {"ixx": 1e-3, "iyy": 2e-3, "izz": 3e-3, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}


def robot(entries: dict[str, float]) -> ET.Element:
    text = " ".join(f'{key}="{value!r}"' for key, value in entries.items())
    return ET.fromstring(
        f'<robot name="hand"><link name="base"><inertial><mass value="0.2"/><inertia {text}/></inertial></link></robot>'
    )


def moments(element: ET.Element) -> np.ndarray:
    inertia, found = np.zeros((3, 3)), element.find("link/inertial/inertia")
    assert found is not None
    for key, i, k in ENTRIES:
        inertia[i, k] = inertia[k, i] = float(found.attrib[key])
    return np.linalg.eigvalsh(inertia)


def test_two_moments_less_than_the_third_are_raised(tmp_path: Path) -> None:
    hand, path = robot(ABILITY_BASE), tmp_path / "hand.urdf"
    before = moments(hand)
    assert before[0] + before[1] < before[2]
    path.write_text(ET.tostring(hand, encoding="unicode"))
    with pytest.raises(ModelError, match="link 'base' .* in no body two are less than the third"):
        read_urdf(path)
    (note,) = mend_inertias(hand, path)
    after = moments(hand)
    assert "link 'base'" in note and after[0] + after[1] == pytest.approx(after[2], rel=1e-5)
    np.testing.assert_allclose(after[2], before[2], rtol=1e-9)
    np.testing.assert_allclose(np.diff(after[:2] - before[:2]), 0.0, atol=1e-12)
    path.write_text(ET.tostring(hand, encoding="unicode"))
    assert read_urdf(path).links["base"].mass == 0.2


def test_a_flat_plate_is_left_alone() -> None:
    plate = robot(PLATE)
    assert mend_inertias(plate, Path("plate.urdf")) == []
    assert ET.tostring(plate) == ET.tostring(robot(PLATE))
