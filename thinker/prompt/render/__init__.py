"""Rendering prompt definitions: one pipeline for everything that authors can write.

1. `lower` turns what an author wrote into `sections`. There is one front end per form: `parts`
   (texts and parts with includes), `layered`, `slot_sections`. Slots are collected with their
   parents' in a `container`, by the rules of `merge`, with `placeholders` filled; `serialize`
   writes them back.
2. `bind` gives variables their values.
3. `attach` makes tables of tools match the tools on offer, joined by `overlay`.
4. `layouts` turns sections into text: Markdown for agents. The `agently` layouts are other layouts
   of the same sections.

`pipeline` runs these steps and `turn_prompt` applies the result to a turn. An answer that must have
a form is judged by a contract: of the definition (`output_contract`, with `requirement` for how the
model is told) or of the program that asks (`output_schema`).
"""
