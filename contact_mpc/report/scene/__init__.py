"""What is drawn in three dimensions: shapes and their colours, poses over time, the camera. It knows no page."""
