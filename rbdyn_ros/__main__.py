"""The process of the command `rbdyn`: Ctrl-C ends it silently from the first line on."""

import os
import signal

if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's background process keeps it
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from rbdyn_ros.cli import main

if __name__ == "__main__":
    main()
