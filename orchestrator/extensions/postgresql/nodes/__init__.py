"""Several daemons that work on one journal, each for groups of agents of its own."""
