"""What a model answered, as data: found in its text, mended where that is safe, checked."""
