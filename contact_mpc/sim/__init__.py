"""Plants with physics of their own (Drake, MuJoCo) and sensors with noise and delay."""
