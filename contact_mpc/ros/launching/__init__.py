"""What the launch files share: arguments, nodes, robot descriptions, ros2_control. Nothing is started here."""
