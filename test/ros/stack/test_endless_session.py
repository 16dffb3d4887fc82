"""A run without an end: what joins its domain comes when the domain is the run's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from contact_mpc.errors import StackError
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.ros.stack.endless_session import run_until_interrupted

pytestmark = pytest.mark.dds


def test_a_view_joins_the_domain_of_a_run_when_it_is_taken(tmp_path: Path) -> None:
    """Where the view came first, its participant made the domain one that is in use, and the run was refused."""
    lease = DomainLease()
    domain = lease.domain
    lease.release()
    entered: list[str] = []

    @contextmanager
    def beside() -> Iterator[None]:
        with pytest.raises(StackError, match=f"ROS domain {domain} is in use"):
            DomainLease(domain)
        entered.append("taken")
        raise KeyboardInterrupt
        yield

    run_until_interrupted("/hand", {}, tmp_path, domain, lambda _message, _values: None, beside())
    assert entered == ["taken"]
