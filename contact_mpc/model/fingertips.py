"""Which links are fingertips: those that a system's file names, else the last link with a shape of every branch."""

from contact_mpc.model.system import System
from contact_mpc.model.system_config import RobotConfig


def fingertip_links(system: System) -> set[tuple[str, str]]:
    """Return (robot, link) of all fingertips of a system."""
    found = set()
    for robot in system.config.robots:
        found |= {(robot.name, link) for link in fingertips_of(system, robot)}
    return found


def fingertips_of(system: System, robot: RobotConfig) -> tuple[str, ...]:
    """Return the links that are one robot's fingertips."""
    return tuple(robot.fingertips or last_links(system, robot.name))


def last_links(system: System, robot: str) -> tuple[str, ...]:
    """Return the last link with a shape of every branch of a robot, in the order of the branches."""
    tree, parents = system.tree, set(system.tree.parent.tolist())
    ends = sorted({body for (owner, _), (body, _) in system.links.items() if owner == robot and body not in parents})
    found = []
    for end in ends:
        body = end
        while body >= 0:
            links = [item.link for item in system.geometries if item.owner == robot and item.body == body]
            if links:
                found.append(links[-1])
                break
            body = int(tree.parent[body])
    return tuple(dict.fromkeys(found))
