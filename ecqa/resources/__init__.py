"""Data that ships with ecqa: taxonomies, prompts and the default model, versioned by file name."""
