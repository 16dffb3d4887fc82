"""What is refused before anything is solved."""

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.model.system import check_vector
from contact_mpc.planning.push.program.geometry import ToolGeometry
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import Model

TOUCHING_M = 1e-6


def check_instance(model: Model, geometry: ToolGeometry, instance: Instance) -> None:
    """Refuse a start or a goal that no plan can have.

    Raises
    ------
    InputError
        Wrong shapes or values that are not finite; the start is outside the joint or velocity limits, with the tool in
        the object or in the ground; the displacement is not positive, or further than the object coasts in the whole
        horizon.
    """
    check_vector("x_0", instance.x_0, model.n_x)
    check_vector("(goal, heading_rad)", np.array([instance.goal, instance.heading_rad]), 2)
    _check_limits(model, instance)
    if not instance.is_measured:
        _check_tool(model, geometry, instance)
    distance = instance.goal - instance.start(model)
    if not instance.goal_weight:
        _check_distance(model, distance)


def _check_limits(model: Model, instance: Instance) -> None:
    system, n, o = model.system, model.n_r, model.n_o
    q, v = instance.x_0[:n], instance.x_0[n + o : 2 * n + o]
    for name, value, low, high in zip(system.joint_names, q, system.q_min, system.q_max, strict=True):
        if not low <= value <= high:
            raise InputError(f"start: joint {name} = {value:.4f} rad is outside [{low:.4f}, {high:.4f}] rad")
    fast = np.abs(v) > system.v_max
    if np.any(fast):
        i = int(np.flatnonzero(fast)[0])
        raise InputError(
            f"start: joint {system.joint_names[i]} moves at {v[i]:.3f} rad/s; its limit is {system.v_max[i]:.3f} rad/s"
        )


def _check_tool(model: Model, geometry: ToolGeometry, instance: Instance) -> None:
    n, o = model.n_r, model.n_o
    q, w = instance.x_0[:n], instance.x_0[n : n + o]
    phi, _ = geometry.gap(q, w, instance.heading_rad)
    if phi < -TOUCHING_M:
        raise InputError(
            f"start: the tool is {-phi:.4f} m inside the object or in front of its face: gap {phi:.4f} m, needed >= 0; "
            "start behind the face that is pushed"
        )
    height = geometry.head(q)[0][2]
    if height < model.settings.clearance_m:
        raise InputError(
            f"start: the tool's head is {height:.4f} m high; clearance_m asks for {model.settings.clearance_m} m"
        )


def _check_distance(model: Model, distance: float) -> None:
    if distance <= 0.0:
        raise InputError(f"displacement = {distance:.4f} m (rad): a push needs > 0, along the heading of the object")
    if model.has_friction:
        slowing = model.thing.breakaway_n / model.thing.inertia[0]
        longest = 0.5 * slowing * model.settings.horizon_s**2
        if distance > longest:
            raise InputError(
                f"displacement = {distance:.3f} m: even hit at once, the block would still slide at the end; within "
                f"{model.settings.horizon_s} s it goes {longest:.3f} m at most: allow more time (horizon_s)"
            )
