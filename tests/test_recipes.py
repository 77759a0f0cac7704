from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecqa.core.errors import BooksError, InputError
from ecqa.recipes import ScoreBooks, ScoreJobConfig, released_schemas, score_recipe


def _config(model: str, **changes: object) -> ScoreJobConfig:
    return ScoreJobConfig.model_validate({"model": model, **changes})


def test_input_kind_follows_from_the_files(stub_model: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"question": ["q"], "answer": ["a"]}), tmp_path / "t.parquet")
    assert "transcripts" not in score_recipe(str(tmp_path), _config(stub_model)).tables
    (tmp_path / "call.txt").write_text("Operator: hello")
    assert "transcripts" in score_recipe(str(tmp_path), _config(stub_model)).tables
    with pytest.raises(InputError, match="not a Parquet or CSV table"):
        score_recipe(str(tmp_path), _config(stub_model, kind="pairs"))


def test_paths_and_batch_sizes_stay_out_of_the_fingerprint(stub_model: str, tmp_path: Path) -> None:
    from ecqa.core.fingerprint import fingerprint, fingerprint_parts

    pq.write_table(pa.table({"question": ["q"], "answer": ["a"]}), tmp_path / "t.parquet")

    def made(**score: object) -> str:
        recipe = score_recipe(str(tmp_path), _config(stub_model, score=score))
        return fingerprint(fingerprint_parts("score", recipe.stages, recipe.schemas, recipe.fingerprint_extra))

    assert made() == made(batch_tokens=77)


def test_a_pair_that_got_lost_opens_the_books() -> None:
    counts = {"planned_rows": 3, "pairs": 3, "filtered_pairs": 3, "filter:kept": 2, "filter:short_pair": 1}
    counts |= {"scores": 3, "scores_in_calls": 2, "scores_without_call": 1}
    ScoreBooks(from_pairs=True, drop_excluded=False)(counts).check()
    with pytest.raises(BooksError, match="kept and marked pairs: 3 in, 2 out"):
        ScoreBooks(from_pairs=True, drop_excluded=False)(counts | {"scores": 2}).check()
    fewer = {"scores": 2, "scores_in_calls": 1, "unscored_marked": 1}
    ScoreBooks(from_pairs=True, drop_excluded=True)(counts | fewer).check()
    with pytest.raises(BooksError, match="rows of the tables: 4 in, 3 out"):
        ScoreBooks(from_pairs=True, drop_excluded=False)(counts | {"planned_rows": 4}).check()
    with pytest.raises(BooksError, match="scores: 3 in, 2 out"):
        ScoreBooks(from_pairs=True, drop_excluded=False)(counts | {"scores_in_calls": 1}).check()


def test_one_model_for_encoding_and_scoring() -> None:
    with pytest.raises(ValueError, match="name model and label_set at the top"):
        ScoreJobConfig.model_validate({"score": {"model": "another"}})


def test_an_unpaired_component_opens_the_books_unless_its_transcript_is_dead() -> None:
    counts = {"planned_items": 1, "files": 1, "transcripts": 1, "transcripts:ok": 1, "qa_components": 2}
    counts |= {"use:answer": 1, "use:unpaired": 1}
    books = ScoreBooks(from_pairs=False, drop_excluded=False)
    with pytest.raises(BooksError, match="Q&A components: 2 in, 1 out"):
        books(counts).check()
    books(counts | {"dead:make_pairs": 1}).check()


def test_a_file_that_got_lost_opens_the_books() -> None:
    books = ScoreBooks(from_pairs=False, drop_excluded=False)
    with pytest.raises(BooksError, match="files: 2 in, 1 out"):
        books({"planned_items": 2, "files": 1}).check()
    books({"planned_items": 2, "files": 2, "dead:parse_transcripts": 1}).check()


def test_released_schemas() -> None:
    assert {"transcripts", "components", "qa_pairs", "scores", "call_scores"} <= set(released_schemas())
