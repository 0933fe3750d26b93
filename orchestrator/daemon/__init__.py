"""One daemon: make each object of the core once, wire it, and live from start to stop.

Only these modules name concrete classes; `life` calls the others in order, and each returns what
the later ones need. Extensions appear only as `orchestrator.extension.Part`.
"""
