"""What the trials of scripts/links and scripts/disks share: a segrec at work, figures beside promises, a scene to record."""
import argparse
import datetime
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SEGMENT = re.compile(r"^(\d{8})_(\d{8}T\d{6}\.\d{3})Z_(\d+)\.m4s$")


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def until(condition, seconds, what):
    """Waits for an event. There is no other way to go on without it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise SystemExit(f"links: {what} did not come within {seconds} s")


def segments(root, recording="talk"):
    """Paths of all segments below, from the root and without sent/, with the file's own path."""
    found = {}
    for folder, _, names in os.walk(os.path.join(root, recording)):
        for name in names:
            if SEGMENT.match(name):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, root).replace("/sent/", "/")] = path
    return found


def started(path):
    """Seconds since the epoch at which the media of a segment begins and ends, by its name."""
    match = SEGMENT.match(os.path.basename(path))
    start = datetime.datetime.strptime(match[2], "%Y%m%dT%H%M%S.%f").replace(tzinfo=datetime.timezone.utc).timestamp()
    return start, start + int(match[3]) / 90_000


def stamp(seconds):
    """As it stands in a name."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y%m%dT%H%M%S.") + f"{moment.microsecond // 1000:03d}Z"


class Segrec:
    """A segrec at work, and what it tells."""

    def __init__(self, binary, *words, trace=None):
        before = ["strace", "-f", "--seccomp-bpf", "-e", "trace=connect", "-ttt", "-o", trace] if trace else []
        self.lines = []
        self.process = subprocess.Popen([*before, binary, *words, "--log", "json"], stderr=subprocess.PIPE, text=True,
                                        stdin=subprocess.DEVNULL)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.lines.append({"event": "?", "message": line.strip()})

    def told(self, event, **fields):
        return [line for line in self.lines.copy()
                if line.get("event") == event and all(line.get(key) == value for key, value in fields.items())]

    def wait(self, seconds):
        code = self.process.wait(timeout=seconds)
        self.reader.join()
        return code


def at(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()


class Trial:
    """Claims are its methods; a subclass names them in CLAIMS."""

    CLAIMS = []

    @staticmethod
    def options(parser):
        """More options of the command line."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.binary = os.path.abspath(arguments.binary)
        self.base = tempfile.mkdtemp(prefix="segrec-trial.", dir=arguments.scratch)
        self.failed = 0

    def say(self, what, figure, unit, least=None, most=None):
        good = (least is None or figure >= least) and (most is None or figure <= most)
        bounds = [f"{word} {bound:g}" for word, bound in (("at least", least), ("at most", most)) if bound is not None]
        promise = f" ({', '.join(bounds)})" if least != most else f" ({least:g})"
        text = f"{figure:.2f}" if isinstance(figure, float) else str(figure)
        print(f"{'ok    ' if good else 'FAILED'} {what}: {text}{' ' + unit if unit else ''}{promise}", flush=True)
        self.failed += not good

    def place(self, name):
        path = os.path.join(self.base, name)
        os.mkdir(path)
        return path

    def scene(self):
        """20 s of picture and sound at 2.4 Mb/s, and ten minutes of the same."""
        short, long = (os.path.join(self.base, name) for name in ("short.mp4", "long.mp4"))
        if not os.path.exists(long):
            run("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                "testsrc2=size=640x360:rate=25,noise=alls=25:allf=t", "-f", "lavfi", "-i", "sine=frequency=440:r=48000",
                "-t", "20", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-b:v", "2300k", "-maxrate", "2300k",
                "-bufsize", "1150k", "-c:a", "aac", "-b:a", "128k", short)
            run("ffmpeg", "-nostdin", "-v", "error", "-stream_loop", "29", "-i", short, "-c", "copy", long)
        return long

    def steady(self, what, program, seconds):
        """Recording went on at its pace: a segment as often as one lasts, none of its pictures dropped."""
        times = [at(line) for line in program.told("segment")]
        apart = [later - sooner for sooner, later in zip(times[:-1], times[1:-1])]
        self.say(f"{what}: longest time between segments of {seconds} s", max(apart), "s", most=seconds + 1)
        self.say(f"{what}: pictures dropped", program.told("recorded")[0]["dropped"], "", 0, 0)

    def same(self, what, spool, root):
        """Everything that was recorded is on the server, with the same bytes and nothing else."""
        there, here = segments(root), segments(spool)
        wrong = set(there) ^ set(here)
        wrong |= {path for path in set(there) & set(here) if not filecmp.cmp(there[path], here[path], shallow=False)}
        self.say(f"{what}: segments lost, doubled or changed, of {len(here)}", len(wrong), "", 0, 0)

    def decodes(self, what, playlist):
        """Another program decodes all that a list names without a word."""
        said = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-xerror", "-allowed_extensions", "ALL", "-i", playlist, "-f", "null", "-"],
            check=False, capture_output=True, text=True).stderr
        self.say(f"{what}: complaints of a decoder {said[:200]}".rstrip(), len(said.splitlines()), "", 0, 0)


def main(trial, program):
    """Tries the claims that the command line names, or all; exits 1 when one does not hold."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("claims", nargs="*", default=trial.CLAIMS, metavar="CLAIM",
                        help=f"{', '.join(trial.CLAIMS)} (all)")
    parser.add_argument("--binary", default=".build/dist/segrec", help="made by scripts/build-release")
    parser.add_argument("--scratch", metavar="DIRECTORY")
    parser.add_argument("--keep", action="store_true", help="leaves what was recorded and received")
    trial.options(parser)
    arguments = parser.parse_args()
    for claim in arguments.claims:
        if claim not in trial.CLAIMS:
            parser.error(f"{claim}: the claims are {', '.join(trial.CLAIMS)}")
    if not os.access(arguments.binary, os.X_OK):
        parser.error(f"{arguments.binary} is not there; scripts/build-release makes it")
    it = trial(arguments)
    try:
        for claim in arguments.claims:
            getattr(it, claim)()
    finally:
        if arguments.keep:
            print(f"everything is in {it.base}")
        else:
            shutil.rmtree(it.base, ignore_errors=True)
    print("wrong: nothing" if not it.failed else f"wrong: {it.failed}")
    sys.exit(1 if it.failed else 0)
