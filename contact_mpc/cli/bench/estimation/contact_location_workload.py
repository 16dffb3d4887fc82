"""Trials of ``bench contact-location``: random contacts, disturbed torques, and what was made of them."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.double_contacts import DoubleContact, DoubleContacts
from contact_mpc.estimation.contact_location.hypothesis import ChainContacts
from contact_mpc.estimation.contact_location.line_of_action import LineOfAction
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw, TrueContact
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

LINKS = tuple(f"link_{k}" for k in range(3, 8))
FORCE_N = (5.0, 50.0)
SAME_MINIMUM_M = 0.01  # a minimum reported that close to the one that the true place slides to is that one
NEAR_M, WIDE_M = 0.02, 0.04
NOWHERE_M = np.inf


@dataclass(frozen=True)
class SingleTrial:
    """One contact. Distances, m, are to the true place; inf where nothing is on its link.

    found : whether the minimum that the true place belongs to is among the reported ones
    inside : whether the true place itself explains the torques within noise
    nearest_m, likeliest_m, classic_m : of the nearest minimum, the most likely one, the nearest of the classic method
    chance_near : share of what can be touched of links 3 to 7 that lies within NEAR_M of a reported minimum
    told : whether all that explains the torques is one place: one hypothesis, not wider than NEAR_M
    """

    link: str
    force_n: float
    found: bool
    inside: bool
    nearest_m: float
    likeliest_m: float
    classic_m: float
    chance_near: float
    told: bool
    hypotheses: int
    minima: int
    cpu_s: float
    status: str


@dataclass(frozen=True)
class DoubleTrial:
    """Two contacts: distance, m, of the worse place of the nearest pair; whether one contact would do."""

    nearest_m: float
    links_found: bool
    pairs: int
    single_explains: bool
    cpu_s: float


class Workload:
    """Trials on one system with one kind of disturbance.

    Parameters
    ----------
    noise_nm, bias_nm, resolution_nm : float
        White noise and constant error of the torques (standard deviations), and the step they are rounded to.
    is_told : bool
        Whether the locator knows of bias and resolution.
    """

    def __init__(
        self,
        system: System,
        seed: int,
        noise_nm: float = 0.05,
        bias_nm: float = 0.0,
        resolution_nm: float = 0.0,
        is_told: bool = True,
    ) -> None:
        known = {"torque_bias_nm": bias_nm, "torque_resolution_nm": resolution_nm} if is_told else {}
        self.locator = ContactLocator(system, LocationConfig(torque_noise_nm=noise_nm, **known))
        self._noise_nm, self._bias_nm, self._resolution_nm = noise_nm, bias_nm, resolution_nm
        self._draw = ContactDraw(self.locator, LINKS, FORCE_N, seed)
        self._classic = LineOfAction(self.locator)
        self._grid = self._touchable()
        self.locator.warm_up()

    def _touchable(self) -> list[tuple[int, FloatArray]]:
        """Return (body, points (n, 3) in its frame) of what can be touched, the same number per area."""
        surfaces, samples = self.locator.surfaces, self.locator.samples
        place = np.einsum("nij,nj->ni", surfaces.R_BG[samples.surface], samples.x) + surfaces.p_BG[samples.surface]
        names = np.array([self.locator.system.geometries[g].link for g in surfaces.geometry])[samples.surface]
        wanted = np.isin(names, LINKS)
        bodies = surfaces.body[samples.surface]
        return [(int(b), place[wanted & (bodies == b)]) for b in np.unique(bodies[wanted])]

    def _measure(self, contacts: list[TrueContact]) -> FloatArray:
        tau = self._draw.torques(contacts) + self._draw.noise(self._noise_nm) + self._draw.noise(self._bias_nm)
        if self._resolution_nm > 0.0:
            tau = self._resolution_nm * np.round(tau / self._resolution_nm)
        return np.asarray(tau)

    def single(self) -> SingleTrial:
        """Draw a contact and locate it."""
        q_a, contact = self._draw.configuration(), self._draw.contact()
        tau = self._measure([contact])
        started = time.process_time()
        (found,) = self.locator.locate(q_a, tau)
        cpu_s = time.process_time() - started
        crossings = self._classic.locate(q_a, tau)[0]
        chain = self.locator.chains[0]
        end, _ = self.locator.slide(chain, contact.surface, contact.p, tau)
        size = float(np.linalg.norm(contact.f))
        minima = sum(len(item.points) for item in found.hypotheses)
        best = found.hypotheses[0].points[0] if found.hypotheses else np.full(3, np.inf)
        told = len(found.hypotheses) == 1 and found.hypotheses[0].extent_m <= NEAR_M
        classic = [float(np.linalg.norm(c.p - contact.p)) for c in crossings if c.body == contact.body]
        return SingleTrial(
            contact.link, size, nearest(found, contact.body, end) <= SAME_MINIMUM_M,
            self.locator.chi2_at(chain, contact.surface, contact.p, contact.n, tau) <= chain.limit,
            nearest(found, contact.body, contact.p), float(np.linalg.norm(best - contact.p)),
            min(classic, default=NOWHERE_M), self._chance(found), told, len(found.hypotheses), minima, cpu_s,
            found.status,
        )  # fmt: skip

    def _chance(self, found: ChainContacts) -> float:
        """Return the share of what can be touched that lies within NEAR_M of a minimum."""
        arm, inside, total = self.locator.arm, 0, 0
        for body, local in self._grid:
            minima = [item.points for item in found.hypotheses if item.body == body]
            total += len(local)
            if minima:
                points = local @ arm.R_WB[body].T + arm.p_WB[body]
                gaps = np.linalg.norm(points[:, None] - np.vstack(minima)[None], axis=2).min(axis=1)
                inside += int(np.sum(gaps <= NEAR_M))
        return inside / total

    def double(self, searcher: DoubleContacts) -> DoubleTrial:
        """Draw two contacts on different links and look for pairs."""
        q_a, first = self._draw.configuration(), self._draw.contact()
        second = self._draw.contact()
        while second.body == first.body:
            second = self._draw.contact()
        tau = self._measure([first, second])
        single = self.locator.locate(q_a, tau)[0].status == "explained"
        started = time.process_time()
        (pairs,) = searcher.locate(q_a, tau)
        cpu_s = time.process_time() - started
        gaps = [_pair_distance(item, first, second) for item in pairs]
        gap = min(gaps, default=NOWHERE_M)
        return DoubleTrial(gap, bool(np.isfinite(gap)), len(pairs), single, cpu_s)


def nearest(found: ChainContacts, body: int, p: FloatArray) -> float:
    """Return the distance, m, of the nearest minimum on a body from p (3,), inf where there is none."""
    gaps = [float(np.linalg.norm(item.points - p, axis=1).min()) for item in found.hypotheses if item.body == body]
    return min(gaps, default=NOWHERE_M)


def _pair_distance(pair: DoubleContact, first: TrueContact, second: TrueContact) -> float:
    for i, k in ((0, 1), (1, 0)):
        if (pair.bodies[i], pair.bodies[k]) == (first.body, second.body):
            return float(max(np.linalg.norm(pair.points[i] - first.p), np.linalg.norm(pair.points[k] - second.p)))
    return NOWHERE_M


def summarise_singles(trials: list[SingleTrial]) -> dict[str, Any]:
    """Return shares and medians of single contacts."""

    def share(values: list[bool]) -> float:
        return float(np.mean(values))

    def median_mm(values: list[float]) -> float:
        return 1e3 * float(np.median(values))

    nearest_m, classic_m = [item.nearest_m for item in trials], [item.classic_m for item in trials]
    return {
        "trials": len(trials),
        "found_share": share([item.found for item in trials]),
        "truth_within_noise_share": share([item.inside for item in trials]),
        "within_20_mm_share": share([value <= NEAR_M for value in nearest_m]),
        "within_40_mm_share": share([value <= WIDE_M for value in nearest_m]),
        "chance_within_20_mm_share": float(np.mean([item.chance_near for item in trials])),
        "error_mm": median_mm(nearest_m),
        "error_p90_mm": 1e3 * float(np.percentile(nearest_m, 90, method="higher")),
        "likeliest_error_mm": median_mm([item.likeliest_m for item in trials]),
        "told_share": share([item.told for item in trials]),
        "hypotheses": float(np.mean([item.hypotheses for item in trials])),
        "minima": float(np.mean([item.minima for item in trials])),
        "classic_within_20_mm_share": share([value <= NEAR_M for value in classic_m]),
        "cpu_ms": 1e3 * float(np.mean([item.cpu_s for item in trials])),
    }


def summarise_doubles(trials: list[DoubleTrial]) -> dict[str, Any]:
    """Return shares and medians of double contacts."""
    distances = [item.nearest_m for item in trials]
    return {
        "trials": len(trials),
        "found_share": float(np.mean([value <= WIDE_M for value in distances])),
        "links_share": float(np.mean([item.links_found for item in trials])),
        "error_mm": 1e3 * float(np.median(distances)),
        "pairs": float(np.mean([item.pairs for item in trials])),
        "single_explains_share": float(np.mean([item.single_explains for item in trials])),
        "cpu_ms": 1e3 * float(np.mean([item.cpu_s for item in trials])),
    }
