"""Follows your feed without a gap, also over restarts of this program and of the server.

    FAREWATCH_URL=http://127.0.0.1:8080 FAREWATCH_KEY=fwk_… python3 follow_feed.py last-seq.txt

The file holds the number of the last record that was applied. Without it the program begins with the present state.
Each record arrives at least once: if the program is killed after it has applied a record, it receives the record again.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("FAREWATCH_URL", "http://127.0.0.1:8080")
KEY = os.environ["FAREWATCH_KEY"]
LONGEST_PAUSE = 30


class Refused(Exception):
    """The server refuses the request, and would refuse it again."""

    def __init__(self, problem: dict):
        super().__init__(problem.get("detail"))
        self.code = problem.get("code")


def get(path: str, **query) -> dict:
    """Reads from the API. Raises OSError if another attempt may succeed, and Refused otherwise."""
    url = f"{URL}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {KEY}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as err:
        if err.code >= 500 or err.code == 429:
            raise
        raise Refused(json.loads(err.read())) from err


def follow_watch_changes(after: int):
    """Yields the records of your feed after a number, in order, and waits for new ones."""
    pause = 1
    while True:
        try:
            page = get("watch-changes", after=after, wait=30)
            pause = 1
        except (OSError, json.JSONDecodeError) as err:
            print(f"again in {pause} s: {err}", file=sys.stderr)
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)
            continue
        yield from page["items"]
        after = page["seq"]


def read_saved(file: str) -> int | None:
    """Where the last run ended."""
    if not os.path.exists(file):
        return None
    with open(file, encoding="ascii") as saved:
        return int(saved.read())


def take_state(file: str) -> int:
    """The state of all watches, and the number that belongs to it."""
    state = get("watch-state")
    for watch in state["watches"]:
        print(f"{watch['list']} {watch['reference']}: {watch['belief']['state']}", flush=True)
    save(file, state["seq"])
    return state["seq"]


def save(file: str, seq: int) -> None:
    """A rename replaces the file in one step, so that it always holds a whole number."""
    with open(f"{file}.new", "w", encoding="ascii") as new:
        new.write(str(seq))
    os.replace(f"{file}.new", file)


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else "last-seq.txt"
    after = read_saved(file)
    while True:
        if after is None:
            after = take_state(file)
        try:
            follow(file, after)
        except Refused as err:
            # The feed has lost what this program has, or what it lacks: only the state is sure.
            if err.code not in ("changes.restored", "changes.archived"):
                raise
            print(err, flush=True)
            after = None


def follow(file: str, after: int) -> None:
    print(f"following after {after}", flush=True)
    for record in follow_watch_changes(after):
        about = f"{record['seq']} {record['list']} {record['reference']}"
        print(f"{about}: {record['kind']}, {record['after']['state']}", flush=True)
        # After the record is applied: if this program is killed here, it receives the record again.
        save(file, record["seq"])


if __name__ == "__main__":
    main()
