from pathlib import Path

import pytest

from ecqa.core.errors import ConfigError
from ecqa.core.taxonomy import load_taxonomy, parse_taxonomy

OWN = """
name: tone
source: ours
label_sets:
  - name: tone
    numeric: false
    labels: [cold, warm]
    meaning: how it sounds
    label_meanings: {cold: distant, warm: friendly}
"""


def test_released_taxonomies() -> None:
    features = [label_set.name for label_set in load_taxonomy("subjectivity-v1").label_sets]
    assert features == ["clear", "assertive", "cautious", "optimistic", "specific", "relevant"]
    assert load_taxonomy("evasion-v1")["evasion"].labels == ("direct", "intermediate", "fully_evasive")


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "tone.yaml"
    path.write_text(OWN)
    assert load_taxonomy(str(path))["tone"].probability_columns == ("tone_p_cold", "tone_p_warm")
    with pytest.raises(KeyError):
        load_taxonomy(str(path))["clear"]


@pytest.mark.parametrize("name", ["subjectivity-v9", "nowhere.yaml"])
def test_unknown_taxonomy(name: str) -> None:
    with pytest.raises(ConfigError, match="not released|no such file"):
        load_taxonomy(name)


@pytest.mark.parametrize(
    "text",
    [
        OWN.replace("[cold, warm]", "[cold]"),
        OWN.replace("numeric: false", "numeric: true"),
        OWN + "more: 1",
        "a: [",
        "7",
    ],
)
def test_malformed_taxonomy(text: str) -> None:
    with pytest.raises(ConfigError, match="taxonomy t:"):
        parse_taxonomy(text, "t")
