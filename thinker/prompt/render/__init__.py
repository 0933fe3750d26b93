"""Render prompt definitions: one pipeline for every form that authors can write.

1. `lower` turns a definition into `sections`. Each form has a front end: `parts` (text, and parts
   with includes), `layered`, and `slot_sections`, whose values `slot_values` collects.
2. `bind` replaces variables by their values.
3. `attach` makes tool tables match the tools on offer; `overlay` joins tables.
4. `layouts` turns sections into text, Markdown for agents. Extensions may add layouts.

`pipeline` runs these steps, and `turn_prompt` applies the result to a turn. The contract of an
answer comes from the definition (`output_contract`; `requirement` shows it to the model) or from an
API request (`output_schema`).

For Python programs: `layered.layered_prompt` builds a layered prompt.
"""
