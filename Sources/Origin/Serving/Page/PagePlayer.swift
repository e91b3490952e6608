extension Page {
  /// A small HLS player over Media Source Extensions, for what browsers' own players cannot do: Chromium's has no
  /// seekable range in a live stream and no choice of sound, Firefox has none at all.
  static let player = #"""
    class SegmentPlayer {
      // Seconds kept ahead of and behind the place that is shown.
      static ahead = 20
      static behind = 40

      // wanted: sound and size (as the playlist names them, '' for its first), wall (where to begin), before (seconds of
      // the recording before a wall-clock time), start (playing), tell (what there is to choose from), took (how long
      // a segment took to come, of the time it lasts).
      constructor(video, url, wanted, onFailure) {
        Object.assign(this, { video, wanted, onFailure, before: wanted.before, feeds: [] })
        this.isOver = false
        this.begin(url).catch(e => this.fail(e))
      }
      fail(error) { if (!this.isOver) { this.destroy(); this.onFailure(error) } }
      destroy() {
        this.isOver = true
        clearInterval(this.timer)
        if (this.stop) this.stop.abort()
        if (this.address) URL.revokeObjectURL(this.address)
      }
      async fetch(url, type, options) {
        this.stop = this.stop || new AbortController()
        const answer = await fetch(url, { signal: this.stop.signal, ...options })
        if (!answer.ok) throw Object.assign(new Error(url + ': ' + answer.status), { status: answer.status })
        return answer[type]()
      }
      async begin(url) {
        const here = new URL(url, location.href).href
        const list = parsePlaylist(await this.fetch(here, 'text', { cache: 'no-cache' }), here)
        const variant = list.variants.find(v => v.size === this.wanted.size) || list.variants[0]
        if (!variant) throw new Error('no variant in the playlist')
        this.wanted.tell(list)
        let codecs = variant.codecs.split(',')
        const sound = list.sounds.find(s => s.url && s.name === this.wanted.sound)
        const isSeen = codecs.some(c => /avc|hvc|hev|av01|vp0?[89]/.test(c))
        const main = new Feed(this, sound && !isSeen ? sound.url : variant.url, sound && isSeen)
        this.feeds = [main]
        await main.reload()
        if (sound && isSeen) {
          this.feeds.push(new Feed(this, sound.url, false, main))
          await this.feeds[1].reload()
        }
        this.source = new MediaSource()
        this.video.src = this.address = URL.createObjectURL(this.source)
        // Not before: a new source ends what was asked of the one before.
        this.wanted.start()
        await new Promise(r => this.source.addEventListener('sourceopen', r, { once: true }))
        if (this.isOver) return
        for (const feed of this.feeds) await feed.open(this.source, codecs)
        if (this.wanted.wall && this.wanted.wall < main.first.wall) await this.extend()
        if (this.isOver) return
        this.source.duration = main.ended ? main.end : Infinity
        this.tellRange()
        const place = this.wanted.wall ? main.toMedia(this.wanted.wall)
          : main.ended ? main.first.at : Math.max(main.first.at, main.end - 3 * main.target)
        if (place) this.video.currentTime = place
        this.timer = setInterval(() => this.pump().catch(e => this.fail(e)), 200)
        for (const feed of this.feeds) this.follow(feed)
      }
      get end() { return this.feeds.length ? this.feeds[0].end : 0 }
      start() { return this.feeds.length && this.feeds[0].first ? this.feeds[0].first.at : 0 }
      toWall(time) { return this.feeds.length ? this.feeds[0].toWall(time) : 0 }
      toMedia(wall) { return this.feeds.length ? this.feeds[0].toMedia(wall) : 0 }
      tellRange() {
        if (this.source.readyState === 'open' && !this.feeds[0].ended) {
          this.source.setLiveSeekableRange(this.start(), Math.max(this.start(), this.end))
        }
      }
      async extend() {
        for (const feed of this.feeds) await feed.extend()
        this.tellRange()
      }
      async follow(feed) {
        while (!feed.ended && !this.isOver) {
          await new Promise(r => setTimeout(r, feed.block ? 100 : Math.max(500, feed.target * 400)))
          try {
            await feed.reload()
            if (!this.isOver) this.tellRange()
          } catch (error) {
            if (error.message === 'the list has moved on') { this.fail(error); return }
            await new Promise(r => setTimeout(r, 2000))
          }
        }
      }
      async pump() {
        if (this.isOver || this.isBusy || this.source.readyState === 'closed') return
        const now = this.video.currentTime
        if (now < this.start() - 0.5) { this.video.currentTime = this.start() + 0.1; return }
        this.isBusy = true
        let isAll = true
        for (const feed of this.feeds) isAll = await feed.pump(now) && isAll
        this.isBusy = false
        if (isAll && !this.isOver && this.source.readyState === 'open') this.source.endOfStream()
      }
    }

    """#
}
