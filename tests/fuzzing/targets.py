"""Every target by its name."""

from fuzzing import files, includes, marks, streams, texts

TARGETS = {
    **texts.TARGETS,
    **includes.TARGETS,
    **streams.TARGETS,
    **files.TARGETS,
    **marks.TARGETS,
}
