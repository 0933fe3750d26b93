"""The self-test of several nodes on one journal, with faults of machines, network and server."""
