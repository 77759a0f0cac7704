"""Documents to components: formats, encodings, speakers, roles and sections. Knows nothing of pairs."""
