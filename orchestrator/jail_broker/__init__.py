"""The process outside of a jail, which acts for those inside.

It answers system calls that no filter can judge, and proxies connections to allowed hosts.
"""
