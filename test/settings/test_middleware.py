"""Another middleware than ROS 2 has is one line with its name, not rcl's end of the process."""

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.settings import middleware
from contact_mpc.settings.extras import require_packages


def test_a_middleware_that_is_not_there_is_named_before_rclpy_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rclpy")
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_nobody_cpp")
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    with pytest.raises(ConfigError, match="RMW_IMPLEMENTATION=rmw_nobody_cpp.*unset RMW_IMPLEMENTATION"):
        require_packages("run", "rclpy")


def test_advice_under_a_sourced_ros_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp")
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert "ros-jazzy-rmw-cyclonedds-cpp" in middleware.middleware_remedy("cannot load librmw_cyclonedds_cpp.so")


def test_other_failures_are_not_put_down_to_the_middleware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    assert middleware.middleware_remedy("ImportError: librcl.so: cannot open") == ""
    monkeypatch.delenv("RMW_IMPLEMENTATION")
    assert middleware.middleware_remedy("anything") == ""
