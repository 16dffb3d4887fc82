"""MPC on the smoothed linearisation: holds the horizon's arrays and runs the compiled iteration on them."""

import numpy as np

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.contact_matching import ContactMatching
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import measure_gaps
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_rows
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.optimisation.contact_trust import make_contact_trust
from contact_mpc.optimisation.horizon import build_limits, build_weights, forget_solution, improve, make_horizon
from contact_mpc.settings.arrays import FloatArray


class Mpc:
    """Tracking problem of `contact_mpc.optimisation.horizon` for one system and one configuration.

    `solve` starts from the nominal commands `u` (T, n_a), which it replaces by better ones.
    """

    def __init__(self, system: System, config: TrackerConfig) -> None:
        self.system = system
        self.model = build_model(system, config.h_s, config.friction)
        self._fingers = finger_rows(system)
        trust = make_contact_trust(self.model, config.horizon_steps, self._fingers, config.contact_trust_weight)
        self.horizon = make_horizon(self.model, system.n_q, config.horizon_steps, trust)
        self.tune(config)
        self._gravity = GravityTorque(system) if config.torque_share > 0.0 else None
        self._matching = ContactMatching(system, self.model, config.contact_reach_m, config.minimum_gap_m)

    def tune(self, config: TrackerConfig) -> None:
        """Take weights and limits of another configuration from the next solve on; its model and horizon are as before.

        Arrays of the same shapes and types: nothing is compiled.
        """
        self.config = config
        self.weights = build_weights(
            self.system, config.object_rotation_weight, config.object_position_weight, config.terminal_scale,
            config.command_weight, config.rate_weight,
        )  # fmt: skip
        self.limits = build_limits(
            self.system, config.limit_margin_rad, config.trust_region_rad, config.command_rate_rad_s * config.h_s
        )

    @property
    def u(self) -> FloatArray:
        """Nominal commands (T, n_a), rad."""
        return self.horizon.u

    def solve(
        self, q: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray, iterations: int | None = None
    ) -> bool:
        """Improve u from the state q (n_q,); the arguments are those of `set_problem`.

        Parameters
        ----------
        iterations : int, optional
            Linearisations; the configuration's where None.

        Returns
        -------
        bool
            False where a step of the model has no solution; u is then not to be used.
        """
        self.set_problem(q, q_ref, u_ref, u_before)
        return all(self.improve() for _ in range(self.config.iterations if iterations is None else iterations))

    def set_problem(self, q: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray) -> None:
        """Set state and references, and match the model's contacts to the state.

        Parameters
        ----------
        q : (n_q,) array
            State.
        q_ref : (T + 1, n_q) array
            Reference, of which the objects' part counts; row k is reached after k steps.
        u_ref : (T, n_a) array
            Reference of the commands, rad.
        u_before : (n_a,) array
            Command in force at q, rad.
        """
        hz = self.horizon
        hz.q[0] = q
        hz.q_ref[:] = q_ref
        hz.u_ref[:] = u_ref
        hz.u_before[:] = u_before
        self._match_contacts(u_before)
        self._watch_contacts()
        self._bound_stretch(q)

    def _match_contacts(self, u_before: FloatArray) -> None:
        hz, config = self.horizon, self.config
        if config.contact_matching:
            self._matching.match(hz.newton, hz.q[0], u_before, config.kappa_per_j, hz.offset, hz.newton.slip)
        else:
            gaps = measure_gaps(self.model, hz.newton, hz.q[0])
            np.maximum(config.minimum_gap_m - gaps, 0.0, out=hz.offset)

    def _watch_contacts(self) -> None:
        """Let the trust region hold for the closest contact within reach of each finger, at the gaps of the state."""
        watched = self.horizon.contact_trust.watched
        if not watched.size:
            return
        near = closest_pair_per_finger(self._fingers, self.horizon.newton.con.phi, self.config.contact_reach_m)
        near = near[self._fingers[near] >= 0]
        watched[:] = -1
        watched[self._fingers[near]] = near

    def _bound_stretch(self, q: FloatArray) -> None:
        """Let K (u - q_a) + g(q_a) stay within the share of the effort limits, with the weight g of the state."""
        if self._gravity is None:
            return
        weight = np.zeros(self.system.n_a)
        self._gravity.compute(q[self.system.n_q_u :], weight)
        limit = self.config.torque_share * self.system.tau_max_nm
        self.limits.stretch_min[:] = (-limit - weight) / self.system.kp
        self.limits.stretch_max[:] = (limit - weight) / self.system.kp

    def improve(self) -> bool:
        """Do one iteration (roll-out with A and B, box program) in one compiled call."""
        config = self.config
        succeeded = improve(
            self.model, self.horizon, self.weights, self.limits, config.kappa_per_j, config.newton_tolerance
        )
        return bool(succeeded)

    def reset(self) -> None:
        """Forget the last solution."""
        forget_solution(self.horizon)
