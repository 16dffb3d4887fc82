"""What the physics engines of the stack do not simulate is refused, not left out."""

from pathlib import Path

import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.resources import resource

TETRAHEDRON = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
def test_system_with_a_mesh_is_refused_with_a_remedy(engine: str, tmp_path: Path) -> None:
    (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)
    text = resource("urdf", "box").read_text()
    mesh = '<mesh filename="tetrahedron.obj"/>'
    (tmp_path / "box.urdf").write_text(text.replace('<box size="0.3 0.4 0.3"/>', mesh))
    path = tmp_path / "box_pushing.yaml"
    path.write_text(resource("systems", "box_pushing").read_text())
    with pytest.raises(ModelError, match="no meshes; found box: use primitives"):
        make_plant(engine, load_system(path), "effort", gravity_compensation=False)
