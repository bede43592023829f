"""Runs a command in a terminal of its own, closes the terminal at the first line of input, and
prints the command's exit status."""

import os
import pty
import select
import sys

process, terminal = pty.fork()
if process == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    ready, _, _ = select.select([terminal, 0], [], [])
    if 0 in ready:
        break
    os.read(terminal, 65536)
os.close(terminal)
_, status = os.waitpid(process, 0)
print("status", os.waitstatus_to_exitcode(status), flush=True)
