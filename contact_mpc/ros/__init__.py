"""Everything that imports rclpy or launch; nothing below imports this folder."""
