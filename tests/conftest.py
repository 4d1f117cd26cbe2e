"""For all tests of the project."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so it is in a background job of a shell, and the runs that tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
