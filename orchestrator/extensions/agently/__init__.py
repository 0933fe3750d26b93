"""Prompts written for Agently 4.0.7: Agently's layouts, slot container and, on request, rules.

``orchestrator prompt show NAME --layout agently_text`` and ``agently_messages`` use the layouts.
Python programs can also change titles and roles::

    sections = lower_slot_prompt(Slots({"instruct": "Answer.", "input": "Hi"}).build_prompt(), "x")
    render_agently_text(sections, LayoutStyle(titles={"instruct": "TASK"})).text
    render_agently_messages(sections, LayoutStyle(roles={"user": "human"})).messages

with ``lower_slot_prompt`` from `thinker.prompt.render.slot_sections`. Our rules differ from
Agently's in a few cases; ``compat="4.0.7"`` follows Agently's.
"""
