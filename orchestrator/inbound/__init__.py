"""The inbound side: everything that becomes a row in the inbox.

`intake` stores the messages of channels (T1) after `admission` let their chat in, `commands`
answers chat commands such as ``/status`` without a model, and `scheduler` stores the tasks that are
due.
"""
