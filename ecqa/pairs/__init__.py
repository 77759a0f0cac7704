"""Components to question-answer pairs, and the filters that mark them. Knows nothing of formats."""
