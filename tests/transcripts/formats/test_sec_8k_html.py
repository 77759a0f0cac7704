def test_angled_labels(read_file):
    transcript, components = read_file("angled_exhibit.htm")
    assert (transcript["format"], transcript["company"]) == ("sec_8k_html", "Tern Marine Ltd.")
    session = [
        (row["speaker"], row["role"], row["speaker_firm"]) for row in components if row["section"] == "qa_session"
    ]
    assert session[1:3] == [
        ("Jo Hadley", "analyst", "Fulmar Research LLC"),
        ("Pell Anders", "executive", "Tern Marine Ltd."),
    ]
    said = [row["text"] for row in components if row["speaker"] == "Pell Anders"]
    assert said == ["They cost 40 million together, which is 2 million less than we had planned."]
    assert not any("vendor" in row["text"] or "Page" in row["text"] for row in components)


def test_name_and_title_on_two_lines(read_file):
    _, components = read_file("two_line_headers.htm")
    assert [row["speaker"] for row in components] == [
        "Operator",
        "Ines Okafor",
        "Operator",
        "Jo Hadley",
        "Ines Okafor",
        "Operator",
    ]
    assert components[1]["text"] == "Thank you. We launched two ferries.\nI am happy with both."
    assert components[1]["speaker_title"] == "Chief Executive Officer"
    assert components[3]["text"] == "What did the ferries cost you?"


def test_example_exhibit(read_file):
    _, components = read_file("bellweather_ex99-2.htm")
    people = {row["speaker"]: (row["role"], row["speaker_title"], row["speaker_firm"]) for row in components}
    assert people["Ruth Zabriskie"] == ("executive", "CFO", "Bellweather Rail Services Corp.")
    assert people["Wen-Li Sato"] == ("analyst", "Senior Analyst", "Grellstone Partners LLC")
    assert not any("invented statements" in row["text"] for row in components)
