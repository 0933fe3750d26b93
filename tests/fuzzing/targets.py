"""Every target by its name."""

from fuzzing import files, includes, streams, texts

TARGETS = {**texts.TARGETS, **includes.TARGETS, **streams.TARGETS, **files.TARGETS}
