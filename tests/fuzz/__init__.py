"""Hard use, at random: inputs, files of data, files of models, processes.

A case is a function of a random generator that raises when the library does something wrong.  It
is told by its family and its number, so that a finding can be repeated:

    python -m tests.fuzz --minutes 10                    all families
    python -m tests.fuzz --minutes 10 --only files       one of them
    python -m tests.fuzz --only files --case 4711        one case, with its traceback

What every call must do, whatever it is given, is in `contract.py`; `README.md` lists the families.
pytest runs the first cases of each (`tests/test_fuzz.py`), and each check of `processes.py` once.
"""
