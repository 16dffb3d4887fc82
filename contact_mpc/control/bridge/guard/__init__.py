"""What every command passes before it leaves for the robot: limits of joints and of the way. No watches, no faults."""
