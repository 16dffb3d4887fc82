"""Thin ROS 2 nodes around the core: parameters, messages, life cycles. The only place with rclpy."""
