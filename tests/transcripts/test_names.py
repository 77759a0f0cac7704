import pytest

from ecqa.transcripts.names import NameIndex, is_generic, is_operator, name_words, resolve, same_person, split_label


@pytest.mark.parametrize(
    ("label", "name", "firm"),
    [
        ("Jane Roe:", "Jane Roe", None),
        ("Q –Jane Roe:", "Jane Roe", None),
        ("Jane  Roe –– Roe Securities, Inc.:", "Jane Roe", "Roe Securities, Inc."),
        ("Jane Roe - Roe Bank - Analyst", "Jane Roe", "Roe Bank - Analyst"),
        ("", "", None),
    ],
)
def test_split_label(label, name, firm):
    assert split_label(label) == (name, firm)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("M. Chad Roe", "Chad Roe"),
        ("Mike Roe", "Michael B. Roe"),
        ("J. Roe", "Jane Roe"),
        ("Dr. Jane Roe, PhD", "Jane Roe"),
        ("Jesper Høiby", "Jesper Hoiby"),
        ("Barbra Rentwell", "Barbara Rentwell"),
        ("Tobey O’Brien Sommer", "Tobey Sommer"),
    ],
)
def test_same_person(one, other):
    assert same_person(one, other)
    assert same_person(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jane Roe", "Sam Roe"),
        ("Jane Roe", "Jane Poe"),
        ("Unidentified Analyst", "Unidentified Executive"),
        ("", "Jane"),
    ],
)
def test_different_people(one, other):
    assert not same_person(one, other)


def test_resolve_takes_the_most_frequent_spelling():
    names = ["Mike Roe", "Michael Roe", "Mike Roe", "Sam Poe"]
    assert resolve(names) == {"Mike Roe": "Mike Roe", "Michael Roe": "Mike Roe", "Sam Poe": "Sam Poe"}


def test_kinds_of_labels():
    assert is_operator("Operator:")
    assert is_operator("Conference Operator")
    assert not is_operator("Ophelia Roe")
    assert is_generic("Unidentified Analyst")
    assert not is_generic("A.M. Roe")
    assert name_words("Dr. J. Høiland, Jr.") == ("j", "hoiland")


def test_an_index_finds_what_comparing_all_names_finds():
    names = ["Bill Roe", "William Roe", "Ted Poe", "Edward J. Poe", "J. Roe", "Ana Maria Poe", "Maria Poe", "Operator"]
    names += [
        "Unidentified Analyst",
        "Roe",
        "Anna Poe Doe",
        "Ana Poe",
        "Jon Hoiland",
        "Jonathan Høiland",
        "Jane Roee",
        "",
    ]
    for place, name in enumerate(names):
        before = names[:place]
        first = next((known for known, other in enumerate(before) if same_person(name, other)), None)
        assert NameIndex(before).find(name) == first
