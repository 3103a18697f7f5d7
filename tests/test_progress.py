import io

import pytest

from tailoredbayes.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_every_step():
    out = Terminal()
    with progress_bar(1, 2, out) as step:
        step("reference risk")
        step("final fit")
    assert "2/2" in out.getvalue()
    assert "done" in out.getvalue()


@pytest.mark.parametrize(("verbose", "stream"), [(1, io.StringIO()), (0, Terminal())])
def test_a_log_file_and_those_who_did_not_ask_see_nothing(verbose, stream):
    with progress_bar(verbose, 1, stream) as step:
        step("reference risk")
    assert stream.getvalue() == ""
