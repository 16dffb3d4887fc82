"""Messages to arrays and back, quality of service, references, markers. No node, no state."""
