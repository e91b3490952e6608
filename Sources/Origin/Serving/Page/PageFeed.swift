extension Page {
  /// What brings a media playlist's segments into a browser's media source.
  static let feed = #"""
    // One media playlist on its way into one source buffer. The leading one has the pictures; another may bring a sound
    // in place of its own.
    class Feed {
      constructor(player, url, isMuted, leading) {
        Object.assign(this, { player, url, isMuted, leading, entries: [], end: 0, maps: new Map(), offsets: new Map() })
      }
      get first() { return this.entries[0] }
      get last() { return this.entries[this.entries.length - 1] }

      async reload() {
        const ask = this.last && this.block ? '?_HLS_msn=' + (this.last.sequence + 1) : ''
        const list = parsePlaylist(await this.player.fetch(this.url + ask, 'text', { cache: 'no-cache' }), this.url)
        Object.assign(this, { target: list.target, block: list.block, ended: list.ended })
        // What stands in a list stays, so only what is new counts; what has left it can still be played.
        const fresh = list.entries.filter(e => !this.last || e.sequence > this.last.sequence)
        if (this.last && fresh.length && fresh[0].sequence > this.last.sequence + 1) {
          throw Object.assign(new Error('the list has moved on'), { status: 404 })
        }
        // Runs are counted from the front of a list that loses entries there.
        const known = this.last && list.entries.find(e => e.sequence === this.last.sequence)
        const run = known ? this.last.run - known.run : this.last ? this.last.run + 1 : 0
        let wall = this.last ? this.last.wall + this.last.seconds * 1000 : 0
        if (!this.last && fresh.length) this.end = this.leading ? 0 : this.player.before(fresh[0].wall)
        for (const e of fresh) {
          const entry = { ...e, wall: e.wall || wall, run: e.run + run, at: this.end }
          if (this.leading) entry.at = this.leading.toMedia(entry.wall)
          this.entries.push(entry)
          this.end = entry.at + entry.seconds
          wall = entry.wall + entry.seconds * 1000
        }
      }
      // All there is of a recording that goes on, in front of what the live list has.
      async extend() {
        if (this.isWhole) return
        const url = this.url.replace(/live\.m3u8$/, 'sofar.m3u8')
        const list = parsePlaylist(await this.player.fetch(url, 'text', { cache: 'no-cache' }), url)
        if (this.isWhole) return
        this.isWhole = true
        let wall = 0
        for (const e of list.entries) { e.wall = e.wall || wall; wall = e.wall + e.seconds * 1000 }
        const first = this.first
        let at = first.at
        const earlier = list.entries.filter(e => e.wall + e.seconds * 500 < first.wall).reverse().map(e => {
          at -= e.seconds
          return { ...e, run: e.run - 1e9, at }
        }).filter(e => e.at >= 0)
        if (this.leading) for (const e of earlier) e.at = this.leading.toMedia(e.wall)
        this.entries.unshift(...earlier.reverse())
      }

      entryAt(time) { return this.entries.find(e => time < e.at + e.seconds - 0.02) }
      // Wall-clock milliseconds of a media time and back.
      toWall(time) {
        const e = this.entryAt(time) || this.last
        return e ? e.wall + Math.min(Math.max(time - e.at, 0), e.seconds) * 1000 : 0
      }
      toMedia(wall) {
        for (const e of this.entries) {
          if (wall < e.wall) return e.at
          if (wall < e.wall + e.seconds * 1000) return e.at + (wall - e.wall) / 1000
        }
        return this.end
      }
      bufferedEnd(time) {
        const ranges = this.buffer.buffered
        for (let i = 0; i < ranges.length; i++) {
          if (ranges.start(i) <= time + 0.1 && time < ranges.end(i)) return ranges.end(i)
        }
        return time
      }

      async open(source, codecs) {
        this.codecs = codecs
        const first = this.entries.find(e => !e.gap)
        if (!first) throw Object.assign(new Error('nothing to play yet'), { status: 404 })
        this.type = this.typeFor((await this.tracks(first.map)).types)
        this.buffer = source.addSourceBuffer(this.type)
      }
      // Fetches what comes next. True when all there is has been fetched.
      async pump(now) {
        if (this.buffer.updating) return false
        // What is only just ahead of a small hole counts as following it.
        let end = this.bufferedEnd(now)
        for (let next; (next = this.bufferedEnd(end + 0.12)) > end + 0.12;) end = next
        const entry = this.entryAt(end + 0.05)
        if (!entry) return this.ended
        if (entry.gap || entry.isLost) {
          // Nothing to show here. Whoever has come this far goes on behind it.
          const behind = this.entries.find(e => e.at > entry.at && !e.gap && !e.isLost)
          if (behind && now > entry.at - 0.25 && !this.leading) this.player.video.currentTime = behind.at + 0.02
          else if (behind) await this.take(behind, now)
          return !behind && this.ended
        }
        await this.take(entry, now)
        return false
      }
      async take(entry, now) {
        if (entry.at > now + SegmentPlayer.ahead) return
        const ranges = this.buffer.buffered
        for (let i = 0; i < ranges.length; i++) {
          if (ranges.start(i) <= entry.at + 0.1 && ranges.end(i) >= entry.at + entry.seconds - 0.1) return
        }
        try {
          await this.append(entry)
          if (ranges.length && ranges.start(0) < now - 2 * SegmentPlayer.behind) {
            await this.change(() => this.buffer.remove(0, now - SegmentPlayer.behind))
          }
        } catch (error) {
          if (this.player.isOver || error.name === 'AbortError') return
          if (error.name === 'QuotaExceededError') {
            await this.change(() => this.buffer.remove(0, Math.max(0.1, now - 5)))
          } else if (error.status === 404 || (entry.tries = (entry.tries || 0) + 1) > 5) entry.isLost = true
          else await new Promise(r => setTimeout(r, 500 * entry.tries))
        }
      }
      async tracks(map) {
        if (!this.maps.has(map)) this.maps.set(map, tracksOf(await this.player.fetch(map, 'arrayBuffer'), this.isMuted))
        return this.maps.get(map)
      }
      // The playlist names the codecs of all runs; these are the ones of one.
      typeFor(types) {
        const own = types.map(t => this.codecs.find(c => c.startsWith(t)) || t).join(',')
        return (/avc|hvc|hev|av01|vp0?[89]/.test(own) ? 'video' : 'audio') + '/mp4; codecs="' + own + '"'
      }
      // Where the time of a run's segments starts. Renditions of a recording share it.
      offset(entry, bytes, scales) {
        if (this.leading) {
          const run = url => url.split('/').slice(-2)[0]
          const other = this.leading.entryAt(entry.at + 0.05)
          return other && run(other.url) === run(entry.url) ? this.leading.offsets.get(other.run) : undefined
        }
        if (!this.offsets.has(entry.run)) this.offsets.set(entry.run, entry.at - startOf(bytes, scales))
        return this.offsets.get(entry.run)
      }
      async append(entry) {
        const { init, scales, types, sounds } = await this.tracks(entry.map)
        const bytes = await this.timed(entry)
        if (this.player.isOver) return
        const offset = this.offset(entry, bytes, scales)
        if (offset === undefined) return
        mute(bytes, sounds)
        if (this.map !== entry.map) {
          this.map = entry.map
          const type = this.typeFor(types)
          if (type !== this.type) this.buffer.changeType(this.type = type)
          await this.change(() => this.buffer.appendBuffer(init))
        }
        this.buffer.timestampOffset = offset
        await this.change(() => this.buffer.appendBuffer(bytes))
      }
      // A segment, and word of how long it took: in the end, and where that is long from now.
      async timed(entry) {
        if (this.leading) return this.player.fetch(entry.url, 'arrayBuffer')
        const { took } = this.player.wanted, began = performance.now()
        const tell = () => took((performance.now() - began) / 1000 / entry.seconds)
        const late = setTimeout(tell, tooSlow * 1000 * entry.seconds)
        try {
          const bytes = await this.player.fetch(entry.url, 'arrayBuffer')
          if (!this.player.isOver) tell()
          return bytes
        } finally { clearTimeout(late) }
      }
      change(body) {
        return new Promise((done, failed) => {
          this.buffer.addEventListener('updateend', done, { once: true })
          this.buffer.addEventListener('error', () => failed(new Error('cannot decode a segment')), { once: true })
          try { body() } catch (error) { failed(error) }
        })
      }
    }

    """#
}
