"""A ROS domain for one run: free, kept, and given back."""

import pytest

pytest.importorskip("rclpy")

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from contact_mpc.errors import StackError
from contact_mpc.ros.stack.domain import DOMAINS, DomainLease, is_in_use


def test_two_leases_are_different_and_a_released_one_can_be_taken_again() -> None:
    first, second = DomainLease(), DomainLease()
    assert first.domain != second.domain
    with pytest.raises(StackError, match=f"domain {first.domain} is in use"):
        DomainLease(first.domain)
    first.release()
    again = DomainLease(first.domain)
    assert again.domain == first.domain
    again.release()
    second.release()


def test_a_domain_with_a_foreign_node_is_in_use() -> None:
    lease = DomainLease()
    domain = lease.domain
    lease.release()
    assert not is_in_use(domain)
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain)
    node = Node("foreign", context=context)
    try:
        assert is_in_use(domain)
        with pytest.raises(StackError, match="in use"):
            DomainLease(domain)
    finally:
        node.destroy_node()
        context.try_shutdown()


@pytest.mark.parametrize("domain", [-1, DOMAINS[-1] + 1, 233])
def test_domains_out_of_range_are_refused(domain: int) -> None:
    with pytest.raises(StackError, match="out of range; allowed: 0 to 101"):
        DomainLease(domain)
