"""What every node stands on: base class, parameters, processes, real-time scheduling, life-cycle client."""
