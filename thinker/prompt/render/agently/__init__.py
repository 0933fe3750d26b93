"""The layouts and the output model of Agently 4.0.7, for prompts written for it.

``orchestrator prompt show NAME --layout agently_text`` and ``agently_messages`` use the layouts.
Python programs can also change titles and roles::

    sections = lower_slot_prompt(Slots({"instruct": "Answer.", "input": "Hi"}).prompt(), "greeting")
    agently_text(sections, LayoutStyle(titles={"instruct": "TASK"})).text
    agently_messages(sections, LayoutStyle(roles={"user": "human"})).messages

with ``lower_slot_prompt`` from `slot_sections` and ``Slots`` from `container`.
"""
