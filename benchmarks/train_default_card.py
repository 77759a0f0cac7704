"""The text of the default model's card and licence note, from its training record and its measured figures."""

import json
from datetime import UTC, datetime
from typing import Any

from quality_model import FOLDS, REPEATS, evasion_table, feature_table

CARD = """# {name}

Scores an earnings-call question with its answer: six subjectivity features (clear, assertive, cautious, optimistic,
specific, relevant; 0 the contrary is shown, 1 neutral, 2 shown) and an evasion level (direct, intermediate,
fully_evasive; **experimental**). One MiniLM encoder (6 layers, 384 wide, 22.6 M weights stored as float16), mean pooling,
one linear head a label set, all in one forward pass. `model_version`: `{version}`.

**Scores must not be used as the sole evidence for legal or regulatory action.** They are a small model's estimate of
ratings that people themselves often disagree on.

## Figures

Weighted (macro) F1 x 100 on the {test} pairs of `test_5768.csv` (SubjECTive-QA, the authors' split of seed 5768), measured
through the same code that `ecqa score` runs, on the stored float16 weights; TF-IDF and majority class in the same run.
The test part was used once, after everything was chosen. TF-IDF is fitted on all {train} pairs of the training part; this
model learned from {learned} of them, the rest chose the epoch.

{features}

The split is by pair: all 115 calls of the test part also occur in the training part (other pairs of the same call), and
99 of its questions stand there word for word with another respondent. On the validation part, which shares no call with
what was trained on, mean macro-F1 was {validation:.1f} after the chosen epoch and {shifted:.1f} after the shift below;
both were used to choose, so they lean high.

Evasion: macro-F1 x 100 of the head in {repeats} repeated stratified {folds}-fold runs on the 108 pairs of EvasionBench's
`dev_108.csv`, encoder fixed. The labels there are those of the model Eva-4B, not of people.

{evasion}

## Data and method

- Features: `train_5768.csv`, {train} pairs of gtfintechlab/SubjECTive-QA (CC BY 4.0), nothing dropped; {share:.0%} of them,
  by whole calls, set apart for validation (`split_by_group`, seed {seed}).
- Base: {base}, Apache-2.0.
  Question and answer as a pair, at most {max_tokens} tokens; longer pairs are cut into overlapping windows over the answer, in
  training as in scoring.
- Loss: cross-entropy with class weights ({class_weights}), heads alike. AdamW, linear warm-up, cosine to 0. The embeddings
  and the {frozen} lowest layers stay as they are. Of {epochs_run} epochs, epoch {epoch} was best by
  validation mean macro-F1.
- Then the biases were moved by {shift} x log prior of the training labels, the number chosen on validation (0 to 1).
- Evasion head: balanced logistic regression (C = {strength}) on the pooled vectors of all 108 pairs; the encoder was not
  trained on them.
- Seed {seed}. Card written {date}; training took {minutes:.0f} minutes with one thread on a shared two-core machine, by

```
python benchmarks/train_default_model.py --config jobs/configs/default_model_cpu.yaml --data ../shared/data --output DIR
```

```json
{config}
```

`python benchmarks/quality_model.py --model default --data ../shared/data` measures the tables again.

## Limits

- Features: NYSE-listed US companies only, 2007-2021; text without voice; nine annotators of one university with similar
  backgrounds; mostly male speakers; the features are subjective by design. Rare labels (clear 0 and relevant 0, about 3 %)
  are found poorly: read the macro-F1.
- TF-IDF with logistic regression is level with this model in mean macro-F1, ahead in weighted F1 and on some features
  (table above).
- Evasion: English calls of US-listed companies, 2002-2022; 108 training pairs with a model's labels. It is marked
  `experimental` in every row of SCORES.
- Probabilities are not calibrated.
"""

LICENCE = """The weights in this directory are derived from sentence-transformers/all-MiniLM-L6-v2, which is licensed under the
Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0), and are released under the same licence; its
text stands in the file LICENSE at the root of this repository. Changes: fine-tuned, pooler removed, stored as float16,
heads added.

Trained on labels of SubjECTive-QA (gtfintechlab/SubjECTive-QA, CC BY 4.0, arXiv 2410.20651) and EvasionBench (Apache-2.0 as
stated, arXiv 2601.09142). No text of either is part of this directory.
"""


def model_card(name: str, about: dict[str, Any], result: dict[str, Any], counts: dict[str, int]) -> str:
    """Fill the card."""
    train, best = about["train"], about["validation"]
    return CARD.format(
        name=name,
        version=result["model_version"],
        features=feature_table(result["features"]),
        evasion=evasion_table(result["evasion"]),
        repeats=REPEATS,
        folds=FOLDS,
        validation=100 * best["mean_macro_f1"],
        shifted=100 * best["shift"]["macro_f1"],
        shift=best["shift"]["shift"],
        share=train["validation_share"],
        seed=train["seed"],
        max_tokens=train["max_tokens"],
        class_weights=train["class_weights"],
        epoch=best["epoch"],
        frozen=train["frozen_layers"],
        epochs_run=best["epochs_run"],
        base=about["base_model"],
        strength=about["evasion_inverse_regularisation"],
        minutes=best["minutes_all"],
        date=datetime.now(UTC).date().isoformat(),
        config=json.dumps(train, indent=1),
        learned=counts["train"] - counts["validation"],
        train=counts["train"],
        test=counts["test"],
    )


def licence_note() -> str:
    """The licence note of the weights."""
    return LICENCE
