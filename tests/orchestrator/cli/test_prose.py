"""Pages of the manual in a terminal."""

from orchestrator.cli.output import fold_page

PAGE = """# A heading that is longer than the width

A paragraph of words that
goes on over lines.

- an item of a list that is long
  and goes on
- another

| a table | that is | left as it is |

```sh
a command that is left as it is
```
"""


def test_paragraphs_of_a_page_are_set_to_the_width_and_the_rest_stays() -> None:
    """Lists keep their indent; tables, code and headings keep their lines."""
    assert fold_page(PAGE, 22) == PAGE.replace(
        "A paragraph of words that\ngoes on over lines.",
        "A paragraph of words\nthat goes on over\nlines.",
    ).replace(
        "- an item of a list that is long\n  and goes on",
        "- an item of a list\n  that is long and\n  goes on",
    )
