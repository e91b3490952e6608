"""Figures of a benchmark, and of the processes that it measures. Needs Linux and nothing but Python."""
import os


class Figures:
    """Prints one line a figure, and remembers whether a promise was broken."""

    failed = False

    def say(self, what, value, unit, limit=None):
        broken = limit is not None and value > limit
        self.failed = self.failed or broken
        promise = '' if limit is None else '  (at most %g %s%s)' % (limit, unit, ': BROKEN' if broken else '')
        print('%-58s %10.3f %s%s' % (what, value, unit, promise), flush=True)


def cpu(pid):
    """Seconds of CPU that a running process has used, all its threads."""
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        try:
            with open('/proc/%d/task/%s/schedstat' % (pid, task)) as f:
                total += int(f.read().split()[0])
        except OSError:
            pass
    return total / 1e9


def memory(pid):
    """Anonymous memory (RssAnon) of a process in MB; 0 when it has gone."""
    try:
        with open('/proc/%d/status' % pid) as f:
            for line in f:
                if line.startswith('RssAnon'):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0
