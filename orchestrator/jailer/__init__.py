"""What the process outside of a jail does for those inside.

It answers calls of the kernel that no filter can judge, and leads to the hosts of a list.
"""
