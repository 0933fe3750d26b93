"""How the words of a request are made: one pipeline for what authors write, and the layers.

Whoever reads this folder follows a prompt definition in this order (`pipeline.render`):

1. `lower`: what an author wrote becomes `sections`, whichever way it was written. One front end for
   each: `parts` (texts and parts with includes), `layered`, `slots`. Slots are collected, with
   their parents', in a `container`, by the rules of `merge` and with `placeholders` filled;
   `serialise` writes them down again.
2. `bind`: variables get their values.
3. `attach`: tables of tools tell the truth about those that there are, joined by `overlay`.
4. `layouts`: sections become text, `markdown` for agents. The blocks and messages of Agently
   (`agently_blocks`, `agently_text`, `agently_messages`) are other layouts of the same sections.
5. `fingerprint`: whether two texts are the same.

`definition` applies that to a turn: the text is the base prompt, its tools and its history are
those that the definition leaves. An answer that has to have a form is judged by a contract: of the
definition (`output_contract`, `agently_model` for its older rules, `requirement` for how a model is
told) or of the program that asks (`output_schema`).

Then, with or without a definition: `base` chooses the base prompt, `layers` says what each layer
does, `compose` in which order, and `cached` where they stand. Hooks (`thinker.hooks`) may change
the outcome; they are not pure, everything here is.
"""
