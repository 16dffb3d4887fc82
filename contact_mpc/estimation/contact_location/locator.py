"""Contact location for one system: chains of joints, surfaces and samples made once, one call per set of torques.

Joints that no link has in common are apart: the fingers of a hand are chains of their own, and each may have a contact
at the same time. Within a chain one contact is looked for here, two by `double_contacts`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from contact_mpc.errors import ModelError
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.descent import descend
from contact_mpc.estimation.contact_location.hypothesis import ChainContacts, Hypothesis, Status
from contact_mpc.estimation.contact_location.search import (
    CHI2,
    SLOT,
    STEPS,
    SURFACE,
    TRUST_SPACINGS,
    WIDTH,
    F,
    N,
    P,
    X,
    search,
    thin,
)
from contact_mpc.estimation.contact_location.surfaces import build_surfaces, sample_surfaces
from contact_mpc.estimation.contact_location.torque_map import Arm, fit_at, make_arm, place_arm, set_torques
from contact_mpc.model.system import System, check_vector
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
TOUCHABLE = ("sphere", "box", "capsule", "cylinder", "hull")
WIDENING = 0.75  # of the angle between the normals of neighbours
STEEPEST_RAD = 1.4


@dataclass(frozen=True)
class Chain:
    """Joints (rows of q_a) that share links, the samples on these links, and the limit of chi^2."""

    rows: IntArray
    members: IntArray
    limit: float


class ContactLocator:
    """Finds all single contacts that explain the external torques of a system's joints.

    Parameters
    ----------
    system : System
        Robots whose links have collision shapes.
    config : LocationConfig, optional
        Noise, friction and resolution.

    Raises
    ------
    ModelError
        No link that a joint moves has a collision shape, or a joint follows another (<mimic>).
    """

    def __init__(self, system: System, config: LocationConfig | None = None) -> None:
        self.system, self.config = system, config or LocationConfig()
        robots = {robot.name for robot in system.config.robots}
        if len(system.tree.axis_dof) != system.n_v:
            raise ModelError(
                f"{system.path}: contacts are not located on robots whose joints follow others (<mimic>): one torque "
                "says too little of two links"
            )
        touchable = [
            (index, item)
            for index, item in enumerate(system.geometries)
            if item.owner in robots and item.body >= 0 and item.shape.kind in TOUCHABLE
        ]
        if not touchable:
            raise ModelError(f"{system.path}: no moving link of a robot has a <collision> shape that could be touched")
        self.surfaces = build_surfaces(touchable)
        self.samples = sample_surfaces(self.surfaces, system.geometries, self.config.spacing_m)
        self.spacing = self._spacings()
        self.wide = self._wide_friction()
        self.chains = self._build_chains()
        self.arm = make_arm(system.tree, self.surfaces)
        self._q = system.q_default.copy()
        self._found = np.zeros((len(self.samples.surface), WIDTH))
        self._kept = {id(chain): np.zeros((0, WIDTH)) for chain in self.chains}

    def _spacings(self) -> FloatArray:
        found = np.full(len(self.surfaces.body), self.config.spacing_m)
        np.minimum.at(found, self.samples.surface, np.sqrt(self.samples.area))
        return found

    def _wide_friction(self) -> FloatArray:
        radius = self.surfaces.size[:, 0]
        turn = np.where(radius > 0.0, WIDENING * self.spacing / np.maximum(radius, 1e-9), 0.0)
        return np.asarray(np.tan(np.minimum(np.arctan(self.config.friction) + turn, STEEPEST_RAD)))

    def _build_chains(self) -> list[Chain]:
        tree, n_v_u = self.system.tree, self.system.n_v_u
        groups: list[set[int]] = []
        for body in np.unique(self.surfaces.body):
            dofs = set(tree.chain[body, : tree.chain_count[body]].tolist())
            groups = [g for g in groups if not g & dofs] + [dofs.union(*(g for g in groups if g & dofs))]
        chains = []
        for dofs in sorted(groups, key=min):
            first = tree.chain[self.surfaces.body[self.samples.surface], 0]
            members = np.flatnonzero(np.isin(first, sorted(dofs)))
            rows = np.array(sorted(dofs), dtype=np.int64) - n_v_u
            chains.append(Chain(rows, members, float(chdtri(len(rows), 1.0 - self.config.confidence))))
        return chains

    def warm_up(self) -> None:
        """Compile, or load what is compiled: a touch shall not wait for it."""
        self.locate(self.system.q_default[self.system.n_q_u :], np.full(self.system.n_a, 1.0))
        thin(np.zeros((1, WIDTH)), 1, self.surfaces, self.spacing)  # where these torques had no explanation

    def locate(self, q_a: FloatArray, tau_ext: FloatArray) -> list[ChainContacts]:
        """Return what each chain's torques say.

        Parameters
        ----------
        q_a : (n_a,) array
            Joint positions, rad (m).
        tau_ext : (n_a,) array
            External torques J' f, N m (N), positive where they push along +q.

        Raises
        ------
        InputError
            Wrong shape, or not finite: torques that are not known are no zeros.
        """
        self.place(q_a)
        tau = check_vector("tau_ext", tau_ext, self.system.n_a)
        return [self._locate_chain(chain, tau) for chain in self.chains]

    def place(self, q_a: FloatArray) -> None:
        """Move the links to q_a (n_a,)."""
        self._q[self.system.n_q_u :] = check_vector("q_a", q_a, self.system.n_a)
        place_arm(self.system.tree, self.surfaces, self._q, self.arm)

    def set_torques(self, chain: Chain, tau: FloatArray) -> Arm:
        """Give the torques tau (n_a,), N m, of one chain to the workspace, which is returned."""
        full, weight = np.zeros(self.system.n_v), np.zeros(self.system.n_v)
        rows = self.system.n_v_u + chain.rows
        full[rows], weight[rows] = tau[chain.rows], 1.0 / self.config.sigma_nm
        set_torques(self.arm, full, weight)
        return self.arm

    def minima(self, chain: Chain) -> tuple[IntArray, FloatArray]:
        """Return surfaces (n,) and places (n, 3) in their frames of what the last call found on a chain."""
        kept = self._kept[id(chain)]
        return kept[:, SURFACE].astype(np.int64), kept[:, X : X + 3]

    def slide(self, chain: Chain, surface: int, p: FloatArray, tau: FloatArray) -> tuple[FloatArray, float]:
        """Return the local minimum (3,), m, that the place p (3,) on a surface belongs to, and its chi^2.

        At the configuration of the last call; tau (n_a,) as for `locate`.
        """
        arm = self.set_torques(chain, tau)
        x = arm.R_WG[surface].T @ (p - arm.p_WG[surface])
        start, buffer = (float(x[0]), float(x[1]), float(x[2])), np.zeros((7, 5))
        longest = TRUST_SPACINGS * self.spacing[surface]
        friction = self.config.friction
        end, _, chi2, _ = descend(arm, self.surfaces, surface, start, friction, longest, STEPS, np.inf, buffer)
        return arm.p_WG[surface] + arm.R_WG[surface] @ np.array(end), chi2

    def chi2_at(self, chain: Chain, surface: int, p: FloatArray, n: FloatArray, tau: FloatArray) -> float:
        """Return the squared residual, in noise, of the best force at the place p (3,) with outward normal n (3,).

        At the configuration of the last call; tau (n_a,) as for `locate`.
        """
        arm, body = self.set_torques(chain, tau), int(self.surfaces.body[surface])
        place, normal = (float(p[0]), float(p[1]), float(p[2])), (float(n[0]), float(n[1]), float(n[2]))
        return float(fit_at(arm, body, place, normal, self.config.friction)[0])

    def _locate_chain(self, chain: Chain, tau: FloatArray) -> ChainContacts:
        own, sigma = tau[chain.rows], self.config.sigma_nm
        self._kept[id(chain)] = np.zeros((0, WIDTH))
        if own @ own <= chain.limit * sigma**2:
            return self._result(chain, "free", float(own @ own) / sigma**2, ())
        self.set_torques(chain, tau)
        count, least = search(
            self.arm, self.surfaces, self.samples, chain.members, self.spacing, self.config.friction, self.wide,
            chain.limit, self._found,
        )  # fmt: skip
        if count == 0:
            return self._result(chain, "unexplained", least, ())
        kept, groups = thin(self._found, count, self.surfaces, self.spacing)
        self._kept[id(chain)] = kept
        return self._result(chain, "explained", float(kept[0, CHI2]), self._hypotheses(kept, groups))

    def _result(self, chain: Chain, status: Status, chi2: float, hypotheses: tuple[Hypothesis, ...]) -> ChainContacts:
        names, sigma = tuple(self.system.joint_names[row] for row in chain.rows), self.config.sigma_nm
        return ChainContacts(names, status, sigma * chi2**0.5, sigma * chain.limit**0.5, hypotheses)

    def _hypotheses(self, kept: FloatArray, groups: int) -> tuple[Hypothesis, ...]:
        parts = [kept[kept[:, SLOT] == k] for k in range(groups)]
        weights = np.exp(-0.5 * np.array([part[0, CHI2] - kept[0, CHI2] for part in parts]))
        shares = weights / weights.sum()
        return tuple(self._hypothesis(part, float(share)) for part, share in zip(parts, shares, strict=True))

    def _hypothesis(self, part: FloatArray, share: float) -> Hypothesis:
        surface = int(part[0, SURFACE])
        item = self.system.geometries[self.surfaces.geometry[surface]]
        points = part[:, P : P + 3]
        extent = float(np.linalg.norm(points - points[0], axis=1).max())
        normals, forces, chi2 = part[:, N : N + 3], part[:, F : F + 3], part[:, CHI2]
        return Hypothesis(item.owner, item.link, item.body, points, normals, forces, chi2, share, extent)
