"""Take rights from a process: with the kernel's own means, by `ctypes`, without a dependency.

It imports the standard library alone, so that a process may use it before anything else is loaded.
Nothing here raises because the kernel lacks something: each step says what could not be done.
"""
