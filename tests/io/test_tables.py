import gzip

import pytest

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
