"""Drives without physics around them: joints of the second order, for bringing up a robot that is not there."""
