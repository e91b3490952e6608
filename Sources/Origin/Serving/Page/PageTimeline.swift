extension Page {
  /// What there is of a recording, drawn, and where a player is in it.
  static let timeline = #"""
    // Wall clock and media time. Players leave gaps out of their time or keep them in; the duration tells which.
    const parts = () => spans.filter(s => s.kind !== 2)
    function gapsCount() {
      const there = parts().reduce((n, s) => n + s.ms, 0) / 1000
      const all = spans.reduce((n, s) => n + s.ms, 0) / 1000
      return all > there && Math.abs(video.duration - all) < Math.abs(video.duration - there)
    }
    function toMedia(wall) {
      if (player) return player.toMedia(wall)
      const used = !isLive() && gapsCount() ? spans : parts()
      if (!used.length) return 0
      let before = 0, after = 0
      for (const s of used) {
        const inside = Math.min(Math.max(wall - s.start, 0), s.ms)
        before += inside
        after += s.ms - inside
      }
      return isLive() ? edge() - after / 1000 : before / 1000
    }
    function toWall(media) {
      if (player) return player.toWall(media) || clock
      const used = !isLive() && gapsCount() ? spans : parts()
      if (!used.length) return clock
      let left = media * 1000
      if (isLive()) left = used.reduce((n, s) => n + s.ms, 0) - (edge() - media) * 1000
      for (const s of used) {
        if (left <= s.ms) return s.start + Math.max(0, left)
        left -= s.ms
      }
      const last = used[used.length - 1]
      return last.start + last.ms
    }
    const bounds = () => {
      const ends = spans.map(s => s.start + s.ms)
      return spans.length ? [Math.min(...spans.map(s => s.start)), Math.max(...ends)] : [clock - 1, clock]
    }
    // Wall clock to place: time when nothing ran takes a fiftieth of what was recorded at most, or days of nothing would
    // hide what there is.
    let layout = { parts: [], all: 1 }
    function arrange() {
      const ordered = [...spans].sort((a, b) => a.start - b.start)
      const most = spans.reduce((n, s) => n + s.ms, 0) / 50
      const parts = []
      let to = ordered.length ? ordered[0].start : 0, all = 0
      const add = (until, length, run) => { parts.push({ from: to, to: until, at: all, length, run }); all += length; to = until }
      for (const s of ordered) {
        if (s.start > to) add(s.start, Math.min(s.start - to, most))
        if (s.start + s.ms > to) add(s.start + s.ms, s.start + s.ms - to, s.run)
      }
      layout = { parts, all: Math.max(1, all) }
    }
    function place(wall) {
      const { parts, all } = layout
      const p = parts.find(p => wall < p.to) || parts[parts.length - 1]
      return p ? (p.at + Math.min(Math.max((wall - p.from) / Math.max(1, p.to - p.from), 0), 1) * p.length) / all : 0
    }
    function wallAt(x) {
      const box = $('timeline').getBoundingClientRect(), { parts, all } = layout
      const at = Math.min(Math.max((x - box.left) / box.width, 0), 1) * all
      const p = parts.find(p => at < p.at + p.length) || parts[parts.length - 1]
      return p ? p.from + Math.min(at - p.at, p.length) / Math.max(1, p.length) * (p.to - p.from) : clock
    }
    // A time of day, with its day where the recording has several.
    function stamp(wall) {
      const [from, to] = bounds()
      const isLong = new Date(from).toDateString() !== new Date(to - 1).toDateString()
      return isLong ? new Date(wall).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' }) : time(wall)
    }
    const words = ['recorded', 'came late', 'missing']
    function drawTimeline() {
      arrange()
      const [from, to] = bounds()
      const draw = (type, start, ms, words) => {
        const e = make('div', undefined, type), left = place(start)
        e.style.left = 100 * left + '%'
        e.style.width = 100 * (place(start + ms - 0.5) - left) + '%'
        e.title = words + ', ' + stamp(start) + ', ' + span(ms)
        return e
      }
      let run = 0
      $('spans').replaceChildren(
        ...layout.parts.filter(p => p.run === undefined).map(p => draw('break', p.from, p.to - p.from, 'not recording')),
        ...spans.map(s => {
          const isNew = s.run !== run
          run = s.run
          return draw(['present', 'late', 'missing'][s.kind] + (isNew ? ' new' : ''), s.start, s.ms, words[s.kind])
        }))
      $('from').textContent = stamp(from)
      $('to').textContent = stamp(to)
      const runs = new Set(spans.map(s => s.run)).size
      const gone = spans.filter(s => s.kind === 2).reduce((n, s) => n + s.count, 0)
      const late = spans.filter(s => s.kind === 1).reduce((n, s) => n + s.count, 0)
      const there = parts().reduce((n, s) => n + s.ms, 0)
      $('facts').textContent = day(from) + ' · ' + span(there) + ' in ' + runs + (runs === 1 ? ' run' : ' runs') + ' · '
        + size(open.bytes) + (gone ? ' · ' + segments(gone) + ' missing' : '') + (late ? ' · ' + segments(late) + ' late' : '')
      const badge = $('badge'), [text, type] = state(open)
      badge.textContent = text
      badge.className = type
      $('toLive').hidden = $('health').hidden = !isLive()
      if (isLive()) $('health').textContent = health(gone)
      const leading = open.renditions.includes('main') ? 'main' : open.renditions[0]
      $('links').replaceChildren('Stream for other players: ', anchor(source()),
        ...isLive() ? [' · from its start until now: ', anchor('/' + open.name + '/' + leading + '/sofar.m3u8')] : [],
        ' · All of it as one file: ', file())
    }
    // What the server can know of a recorder: how old the newest of it is, how long it takes to come, what is missing.
    function health(gone) {
      const seconds = ms => ms < 90000 ? (ms / 1000).toFixed(ms < 10000 ? 1 : 0) + ' s' : span(ms)
      return 'Recorder: the newest picture here is ' + seconds(Math.max(0, clock - open.end)) + ' old, the last arrival '
        + ago(clock - open.lastArrival) + '. '
        + (open.delay < -2000 ? 'Its clock is ' + seconds(-open.delay) + ' ahead of the server’s. '
          : 'Segments come ' + seconds(Math.max(0, open.delay)) + ' after their end'
            + (open.delayMost > open.delay + 1000 ? ', of the last twelve one ' + seconds(open.delayMost) : '') + '. ')
        + (gone ? segments(gone) + ' are still to come or lost. ' : 'No number is missing. ')
        + (clock - open.end > 30000 ? 'What it may have recorded since then is still to come.' : '')
    }

    """#
}
