"""What contact location finds: hypotheses with their minima, per chain of joints."""

from dataclasses import dataclass
from typing import Literal

from contact_mpc.settings.arrays import FloatArray

Status = Literal["free", "explained", "unexplained"]


@dataclass(frozen=True)
class Hypothesis:
    """Places that hang together on one link and explain the torques, the best first.

    Attributes
    ----------
    owner, link : str
        Robot and link of the best place.
    body : int
        Body of the tree that carries it.
    points, normals : (n, 3) arrays
        Minima, m, and outward normals of the link there, world frame.
    forces : (n, 3) array
        Force on the link at each, N, world frame.
    chi2 : (n,) array
        Squared residual of all torques of the chain, in standard deviations.
    likelihood : float
        exp(-chi2 / 2) of the best place, as a share of the sum over all hypotheses of the chain.
    extent_m : float
        Largest distance of a minimum from the best one: what the torques leave open.
    """

    owner: str
    link: str
    body: int
    points: FloatArray
    normals: FloatArray
    forces: FloatArray
    chi2: FloatArray
    likelihood: float
    extent_m: float


@dataclass(frozen=True)
class ChainContacts:
    """What the torques of one chain of joints say.

    Attributes
    ----------
    joints : tuple of str
        Names of the chain's joints.
    status : str
        "free": no contact explains the torques, too; "explained": hypotheses has all single contacts that do;
        "unexplained": no single contact does.
    residual_nm : float
        Root of the summed squares of what the best single contact leaves of the torques (free: of the torques), N m.
    limit_nm : float
        Residual up to which torques count as explained, N m.
    hypotheses : tuple of Hypothesis
        The most likely first.
    """

    joints: tuple[str, ...]
    status: Status
    residual_nm: float
    limit_nm: float
    hypotheses: tuple[Hypothesis, ...]

    def describe(self) -> str:
        """Return a line for people."""
        name = f"{self.joints[0]} to {self.joints[-1]}" if len(self.joints) > 1 else self.joints[0]
        if self.status == "free":
            return f"{name}: no contact"
        if self.status == "unexplained":
            return (
                f"{name}: no contact explains this, residual {self.residual_nm:.3g} N m (noise up to "
                f"{self.limit_nm:.3g}); two contacts, a bias of the torques or a payload that is not modelled?"
            )
        links = ", ".join(f"{item.link} ({100.0 * item.likelihood:.0f} %)" for item in self.hypotheses[:4])
        return f"{name}: {len(self.hypotheses)} hypotheses: {links}"
