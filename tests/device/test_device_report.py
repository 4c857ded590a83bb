"""The report of a device says what ran there, what did not, and why; and keeps what it has when it is cut off."""

import json

import device_report
import pytest


@pytest.fixture
def parts(monkeypatch, tmp_path):
    tests = tmp_path / "test_some.py"
    tests.write_text("def test_well(): pass\ndef test_ill(): assert 1 == 2\n")
    writes = "import json, sys; json.dump({'ratio': 2}, open(sys.argv[1], 'w'))"
    found = {
        "tests": [
            ("-m", "pytest", "-q", "-p", "no:nbval", "--junitxml=RESULT", "--rootdir", str(tmp_path), str(tests))
        ],
        "chapters": [("-c", "import os; print(os.environ['TRANSFORMER_EDU_DEVICE'])")],
        "benchmarks": [("-c", writes, "RESULT")],
        "recordings": [("-c", writes, "FOLDER/step-times.json")],
    }
    monkeypatch.setattr(device_report, "PARTS", found)
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", "cpu")
    return found


@pytest.mark.slow
def test_a_report_says_what_ran_and_what_failed(parts, tmp_path, capsys):
    out = tmp_path / "made" / "report.json"
    assert device_report.main(["--out", str(out)]) == 1
    report = json.loads(out.read_text())
    assert report["device"] == "cpu"
    (tests,), (chapters,), (benchmarks,), (recordings,) = (report["parts"][name] for name in parts)
    assert (tests["status"], tests["passed"], tests["skipped"]) == (1, 1, 0)
    assert list(tests["failed"].values()) == ["assert 1 == 2"]
    assert (chapters["status"], "said" in chapters) == (0, False)
    assert benchmarks["results"] == recordings["step-times"] == {"ratio": 2}
    assert "tests: ended 1" in capsys.readouterr().out


def test_what_has_ended_is_kept_when_the_rest_is_cut_off(parts, tmp_path, monkeypatch):
    ends = iter([{"status": 0, "seconds": 1.0}])
    monkeypatch.setattr(device_report, "run", lambda command: next(ends))
    with pytest.raises(StopIteration):
        device_report.main(["--only", "chapters", "benchmarks", "--out", str(tmp_path / "report.json")])
    assert list(json.loads((tmp_path / "report.json").read_text())["parts"]) == ["chapters"]


def test_a_device_that_is_not_here_is_refused_before_anything_runs(parts, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", "xpu")
    with pytest.raises(ValueError, match="must name a device that can be used here, got 'xpu'"):
        device_report.main(["--out", str(tmp_path / "report.json")])
    assert not list(tmp_path.glob("report.json"))
