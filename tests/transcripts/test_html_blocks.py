from ecqa.transcripts.html_blocks import Block, is_tangled, read_blocks, trim_tags


def test_blocks_and_bold():
    page = "<html><head><title>no</title></head><body><p><b>Jane Roe</b> - <i>CFO</i></p>"
    page += "<div style='font-weight:bold'>Bold</div>plain<br>next</body>"
    blocks = read_blocks(page)
    assert blocks[0] == Block("Jane Roe - CFO", "Jane Roe")
    assert blocks[1] == Block("Bold", "Bold", bold=True)
    assert [block.text for block in blocks[2:]] == ["plain", "next"]


def test_page_ends_and_odd_characters():
    blocks = read_blocks("<p>non\u2011breaking\u00a0 blank\u200b</p><hr><p style='page-break-before:always'>x</p>")
    assert blocks[0].text == "non-breaking blank"
    assert sum(block.is_break for block in blocks) == 2


def test_nothing_to_read():
    assert read_blocks("") == []
    assert read_blocks("<!-- only a comment -->") == []


def test_deep_nesting_needs_no_stack():
    assert isinstance(read_blocks("<div>" * 5000 + "x" + "</div>" * 5000), list)


def test_only_a_tag_with_thousands_of_attributes_loses_them():
    usual = '<p style="a > b" class=x>1 < 2</p><img src="data:' + "A/ " * 5000 + '">'
    assert trim_tags(usual) == usual
    assert trim_tags(f"<p {'x=1 ' * 5000}>text</p>") == "<p >text</p>"


def test_tangled_is_what_no_page_is():
    assert not is_tangled("<html>" + "<p>a<br><li>b" * 5000 + "<b>x</b>" * 5000)
    assert is_tangled("<div>" * 5000)
    assert is_tangled("<font>" * 500)
