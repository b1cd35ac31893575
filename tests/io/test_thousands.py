"""Numbers whose thousands are separated, and identifiers that begin with zeros."""

import pytest

from rectifact.core.errors import InputError
from rectifact.io.frames import read_frame


def column(tmp_path, text, name, **options):
    path = tmp_path / "sales.csv"
    path.write_text(text, encoding="utf-8")
    frame = read_frame(path, **options)
    return frame.table.column(name).to_pylist(), frame.remarks


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("id;item;amount\nK1;a;30,99\nK1;b;1.234,56\nK2;a;12\n", [30.99, 1234.56, 12]),
        ("id;item;amount\nK1;a;2 037\nK1;b;12\n", [2037, 12]),
        ("id;item;amount\nK1;a;2\N{NO-BREAK SPACE}037\nK1;b;12,5\n", [2037, 12.5]),
        ("id;item;amount\nK1;a;2'037\nK1;b;\n", [2037, None]),
        ('id,item,amount\nK1,a,"1,046"\nK1,b,12\n', [1046, 12]),
        ("id;item;amount\nK1;a;1,234.5\nK1;b;1,046\n", [1234.5, 1046]),
        ("id;item;amount\nK1;a;1.234.567\nK1;b;1.046\n", [1234567, 1046]),
    ],
)
def test_grouped_numbers_are_numbers_and_it_is_said_how_they_are_read(tmp_path, text, values):
    found, remarks = column(tmp_path, text, "amount")
    assert found == values
    assert any("in 'amount' is read as" in remark for remark in remarks)


POINTS = "id;item;amount\nK000;A32;304\nK003;A7;1.258\nK003;A8;12.500\n"


def test_points_that_may_separate_thousands_are_a_question_that_an_option_answers(tmp_path):
    with pytest.raises(InputError, match=r"'1.258' beside whole ones such as '304'.*--thousands \. to read"):
        column(tmp_path, POINTS, "amount")
    assert column(tmp_path, POINTS, "amount", thousands=".")[0] == [304, 1258, 12500]
    assert column(tmp_path, POINTS, "amount", thousands="none")[0] == [304, 1.258, 12.5]


@pytest.mark.parametrize("cells", ["0.125;12", "1.5;304", "1.258;12.500", "1.258;2000", "12.03.2024;14 km"])
def test_other_numbers_and_dates_are_left_alone(tmp_path, cells):
    first, second = cells.split(";")
    found, remarks = column(tmp_path, f"id;item;amount\nK1;a;{first}\nK1;b;{second}\n", "amount")
    assert [str(value) for value in found] == [first, second] or found == [float(first), float(second)]
    assert not remarks


def test_commas_in_doubt_name_the_option(tmp_path):
    text = "id;item;amount\nK1;a;1,046\nK1;b;12\n"
    with pytest.raises(InputError, match="--thousands , if it separates thousands"):
        column(tmp_path, text, "amount")
    assert column(tmp_path, text, "amount", thousands=",")[0] == [1046, 12]
    assert column(tmp_path, text, "amount", thousands="none")[0] == [1.046, 12]


def test_numbers_that_begin_with_zeros_name_customers(run, tmp_path):
    rows = [(f"{i % 30:06d}", f"Dübel {i % 7}", "1.234,56" if i % 5 else "30,99") for i in range(200)]
    lines = ["Kundennummer;Artikelbezeichnung;Umsatz;Bestelldatum", *(";".join((*row, "21.08.2024")) for row in rows)]
    (tmp_path / "sales.csv").write_text("\n".join(lines), encoding="utf-8")
    said = run("embed", tmp_path / "sales.csv", "-k", 1, "-o", tmp_path / "e.csv", "--repeats", "sum").err
    assert "1.234,56 in 'Umsatz' is read as 1234.56" in said
    assert "30 rows by 7 columns" in said
    assert (tmp_path / "e.csv").read_text().splitlines()[1].startswith("000000,")
