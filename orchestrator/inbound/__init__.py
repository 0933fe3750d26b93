"""The inbound side: everything that becomes a row in the inbox.

`intake` stores the messages of channels (T1) after `admission` admitted their chat, and `commands`
answers chat commands such as ``/status`` without a model.
"""
