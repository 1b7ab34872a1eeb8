"""The ten minutes of a new user, in processes of their own, as the transcript in the docs has them."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "new_user.py"


@pytest.mark.slow
def test_three_shapes_of_csv_to_models_reasons_and_streams(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("new_user", SCRIPT)
    new_user = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(new_user)
    codes = new_user.main("WarpedBumps", str(tmp_path))
    shown = capsys.readouterr().out
    assert [place for place, code in enumerate(codes) if code] == list(new_user.REFUSED), shown
    assert "Traceback" not in shown
    assert "label column 'label', 2 classes" in shown
    assert "It looks like a long table" in shown or "holds text" in shown
    assert "gaps and" in shown
    assert "resampled at steps of 0.1" in shown
    assert (tmp_path / "why.png").stat().st_size > 5000
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "predicted,class -1,class 1"
    assert len(lines) == 401
