"""Pinocchio gets masses and joints, and has nothing to say about shapes."""

from pathlib import Path

import numpy as np
import pinocchio
import pytest

from contact_mpc.model.gravity_torque import pinocchio_model
from contact_mpc.model.urdf import read_urdf

ARM = """<robot name="arm">
<link name="base"/>
<link name="tool"><inertial><origin xyz="0 0 0.1"/><mass value="2.0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><capsule radius="0.02" length="0.1"/></geometry></collision></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="tool"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def test_a_capsule_makes_no_noise_and_changes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    urdf = read_urdf(path)
    pinocchio.buildModelFromXML(urdf.text)
    assert "collision" in "".join(capfd.readouterr()).lower()  # else nothing is to be kept quiet any more
    model = pinocchio_model(urdf)
    assert capfd.readouterr() == ("", "")
    gravity = pinocchio.computeGeneralizedGravity(model, model.createData(), np.array([np.pi / 2]))
    assert gravity[0] == pytest.approx(-2.0 * 9.81 * 0.1)
