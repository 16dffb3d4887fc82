"""The live view in a browser: scene, goal gizmo, panel. Shows what it is given; knows no ROS and commands no robot."""
