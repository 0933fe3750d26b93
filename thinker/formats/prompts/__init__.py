"""Prompt definitions: the Python API, the files, and the checks.

Import the names from the modules below. This package imports none of them, so that a program loads
only what it needs::

    from thinker.formats.prompts.definition import PromptDefinition
    from thinker.formats.prompts.sources import IncludePart, TextPart
    from thinker.formats.prompts.tooluse import ToolEntry

    PromptDefinition(
        name="support",
        tool_description="Answers customers",
        model="inherit",
        prompt=[IncludePart(prompt="house_rules"), TextPart(content="Be kind.")],
        tools=["search_docs", ToolEntry(name="summarize", include_tool_calls=False)],
    )

- `definition`: `PromptDefinition`, and `parse_definition`, which reports all problems of a value.
- `sources`: the forms of ``prompt``: text, parts with includes, layered sections, or slots.
- `slots` and `grammar`: the slots of a prompt, and the schema of its answer.
- `tooluse`: the ``tools`` of a definition.
- `definition_files`: definitions in ``.md``, ``.yaml`` and ``.json`` files.
- `registry`: checks the names in a definition: models, tools, includes, hooks and agents.
- `bundle`: a definition with everything it includes, as it travels to a worker.
- `subprompt`: a definition as a tool of another one.
- `substitution`: ``${NAME}`` in the options of tools.
- `problem`: the errors; all of them derive from `problem.DefinitionError`.

`thinker.prompt.render` turns a definition into the text that a model reads.
"""
