import gzip

import pytest

from rectifact.core.errors import InputError
from rectifact.io.tables import read_table
from rectifact.io.text import find_layout

HEADERS = {
    b"a,b;c,d\n": ",",
    b"a;b;c,d\n1,5;2,5;3,5\n": ";",
    b"a\tb\n1,2\t3,4\n": "\t",
    b'"a;b;c",d\n': ",",
    b'"x ""a;b;c"" y",d\n': ",",
    b'd,"a;b;c\nmore;"\n': ",",  # a name that goes on in the next line
    b"\xef\xbb\xbfa;b\r\n": ";",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz"])
def test_the_commonest_outside_of_quotes(tmp_path, header, name):
    (tmp_path / name).write_bytes(gzip.compress(header) if name.endswith(".gz") else header)
    assert find_layout(tmp_path / name).separator == HEADERS[header]


@pytest.mark.parametrize(("name", "separator"), [("x.csv", ","), ("x.TSV", "\t")])
@pytest.mark.parametrize("header", [b"", b"a\n1;2\n", b"a;b,c\n"])
def test_a_tie_goes_by_the_name(tmp_path, name, separator, header):
    (tmp_path / name).write_bytes(header)
    assert find_layout(tmp_path / name).separator == separator


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_quotation_mark_that_is_not_closed_does_not_swallow_the_rest_of_the_file(tmp_path, place, end):
    lines = ["id,text", *(f"{i}," + '"' * (i == place) + "some words here" for i in range(20))]
    path = tmp_path / "texts.csv"
    path.write_text(end.join(lines) + end, newline="")
    if place == 19:  # nothing follows that could be swallowed
        assert read_table(path).num_rows == 20
        return
    with pytest.raises(InputError, match=f"A quotation mark in line {place + 2} of .* is not closed"):
        read_table(path)


@pytest.mark.parametrize(
    "last", ['1,"two\nlines"', '1,"two\nlines"\n', '1,"two\r\nlines ""quoted"""\r\n', "1,one line"]
)
def test_a_last_cell_of_several_lines_is_read(tmp_path, last):
    path = tmp_path / "texts.csv"
    path.write_text(f"id,text\n0,words\n{last}", newline="")
    assert read_table(path).num_rows == 2
