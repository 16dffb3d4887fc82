"""What the physics engines of the stack do not simulate is refused, not left out."""

import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.system import load_system
from contact_mpc.sim.plant import make_plant


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
def test_system_with_fixed_shapes_is_refused_with_a_remedy(engine: str) -> None:
    with pytest.raises(ModelError, match="fixed shapes; found ground: put them on a link"):
        make_plant(engine, load_system("cube"), "effort", gravity_compensation=False)
