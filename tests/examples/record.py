"""Between the daemon and a server: passes each line on and notes it: python3 record.py FILE, the server's command as a
JSON list in $RECORDED.

One line a message in FILE, as a list: "asked" or "answered", and the message. What calling the tools directly would have
cost an agent is counted from it.
"""
import json
import os
import subprocess
import sys
import threading

server = subprocess.Popen(json.loads(os.environ["RECORDED"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
notes = open(sys.argv[1], "ab", buffering=0)


def relay(source, target, direction):
    for line in source:
        notes.write(b'["%s", %s]\n' % (direction, line.strip()))  # one write a line: appended whole, before it is passed on
        target.write(line)
        target.flush()
    target.close()


asked = threading.Thread(target=relay, args=(sys.stdin.buffer, server.stdin, b"asked"))
asked.start()
relay(server.stdout, sys.stdout.buffer, b"answered")
sys.exit(server.wait())
