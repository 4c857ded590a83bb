"""Our JavaScript is laid out as tools/format_js.py lays it out, in 120 columns."""

import format_js
import pytest

SOURCES = [path.relative_to(format_js.ROOT).as_posix() for path in format_js.sources()]


def test_all_of_our_scripts_are_found():
    assert {
        "transformer_edu/book/figures/js/host.js",
        "transformer_edu/book/figures/js/core/dom.js",
        "book/_static/page.js",
    } <= {*SOURCES}


@pytest.mark.parametrize("name", SOURCES)
def test_a_script_is_laid_out(root, name):
    text = (root / name).read_text(encoding="utf-8")
    assert format_js.formatted(text) == text, "run tools/format_js.py"
    assert not format_js.long_lines(text)


def test_layout_changes_no_string_and_keeps_short_blocks():
    before = (
        'import {a,b} from "./core.js";\nconst f=()=>{return `a  ${ b }   "c"`;};\nconst g = { one: { two: [1] }[a] };'
    )
    after = format_js.formatted(before)
    assert after == (
        'import { a, b } from "./core.js";\nconst f = () => { return `a  ${ b }   "c"`; };\n'
        "const g = { one: { two: [1] }[a] };\n"
    )
    assert format_js.formatted(after) == after


def test_a_wrong_layout_is_reported(tmp_path, monkeypatch, capsys):
    script = tmp_path / "figure.js"
    script.write_text("const a=1;\n" + "x" * 121 + ";\n")
    monkeypatch.setattr("sys.argv", ["format_js.py", "--check", str(script)])
    assert format_js.main() == 1
    assert script.read_text().startswith("const a=1;")
    said = capsys.readouterr().out
    assert "would be laid out anew" in said
    assert "figure.js:2: more than 120 columns" in said
