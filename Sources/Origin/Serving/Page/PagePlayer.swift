extension Page {
  /// A small HLS player over Media Source Extensions, for what browsers' own players cannot do: Chromium's has no
  /// seekable range in a live stream, Firefox has none at all.
  static let player = #"""
    'use strict'
    // Reads a playlist. A media playlist gives entries; a multivariant one gives variants and sound tracks.
    function parsePlaylist(text, base) {
      const list = { entries: [], variants: [], target: 5, ended: false, block: false }
      const attributes = line => Object.fromEntries([...line.matchAll(/([A-Z0-9-]+)=("[^"]*"|[^,]*)/g)]
        .map(m => [m[1], m[2].replace(/^"|"$/g, '')]))
      let next = {}, map = null, sequence = 0, run = 0
      for (const line of text.split('\n').map(l => l.trim())) {
        const value = line.slice(line.indexOf(':') + 1)
        if (line.startsWith('#EXT-X-TARGETDURATION:')) list.target = Number(value)
        else if (line.startsWith('#EXT-X-MEDIA-SEQUENCE:')) sequence = Number(value)
        else if (line.startsWith('#EXT-X-SERVER-CONTROL:')) list.block = /CAN-BLOCK-RELOAD=YES/.test(value)
        else if (line.startsWith('#EXT-X-MAP:')) map = new URL(attributes(value).URI, base).href
        else if (line.startsWith('#EXT-X-PROGRAM-DATE-TIME:')) next.wall = Date.parse(value)
        else if (line === '#EXT-X-DISCONTINUITY') run++
        else if (line === '#EXT-X-GAP') next.gap = true
        else if (line === '#EXT-X-ENDLIST') list.ended = true
        else if (line.startsWith('#EXTINF:')) next.seconds = parseFloat(value)
        else if (line.startsWith('#EXT-X-STREAM-INF:')) next.variant = attributes(value)
        else if (line && line[0] !== '#') {
          const url = new URL(line, base).href
          if (next.variant) list.variants.push({ url, codecs: next.variant.CODECS || '' })
          else list.entries.push({ url, map, run, sequence: sequence++, ...next })
          next = {}
        }
      }
      return list
    }

    // The boxes of an MP4 file: calls back with type, start and end of the payload.
    function eachBox(view, from, to, body) {
      for (let at = from; at + 8 <= to;) {
        let length = view.getUint32(at), head = 8
        if (length === 1) { length = Number(view.getBigUint64(at + 8)); head = 16 }
        if (length === 0) length = to - at
        if (length < head || at + length > to) return
        const type = String.fromCharCode(...[4, 5, 6, 7].map(i => view.getUint8(at + i)))
        body(type, at + head, at + length)
        at += length
      }
    }
    // From an init section: time scales by track number, and the sample entries' types (`avc1`, `mp4a`).
    function tracksOf(bytes) {
      const view = new DataView(bytes), scales = {}, types = []
      eachBox(view, 0, view.byteLength, (type, a, b) => type === 'moov' && eachBox(view, a, b, (type, a, b) => {
        if (type !== 'trak') return
        let track = 0
        eachBox(view, a, b, (type, a, b) => {
          if (type === 'tkhd') track = view.getUint32(a + (view.getUint8(a) ? 20 : 12))
          if (type === 'mdia') eachBox(view, a, b, (type, a, b) => {
            if (type === 'mdhd') scales[track] = view.getUint32(a + (view.getUint8(a) ? 20 : 12))
            if (type === 'minf') eachBox(view, a, b, (type, a, b) => {
              if (type === 'stbl') eachBox(view, a, b, (type, a, b) => {
                if (type === 'stsd') eachBox(view, a + 8, b, type => types.push(type))
              })
            })
          })
        })
      }))
      return { scales, types }
    }
    // Seconds at which a segment starts in its run's own time: the earliest decode time of its tracks.
    function startOf(bytes, scales) {
      const view = new DataView(bytes)
      let first = Infinity, isOver = false
      eachBox(view, 0, view.byteLength, (type, a, b) => {
        if (type !== 'moof' || isOver) return
        isOver = true
        eachBox(view, a, b, (type, a, b) => {
          if (type !== 'traf') return
          let track = 0
          eachBox(view, a, b, (type, a) => {
            if (type === 'tfhd') track = view.getUint32(a + 4)
            if (type === 'tfdt' && scales[track]) {
              const time = view.getUint8(a) ? Number(view.getBigUint64(a + 4)) : view.getUint32(a + 4)
              first = Math.min(first, time / scales[track])
            }
          })
        })
      })
      return isFinite(first) ? first : 0
    }

    class SegmentPlayer {
      // Seconds kept ahead of and behind the place that is shown.
      static ahead = 20
      static behind = 40

      constructor(video, url, track, onFailure) {
        Object.assign(this, { video, track, onFailure, entries: [], end: 0, maps: new Map(), offsets: new Map() })
        this.isOver = false
        this.begin(url).catch(e => this.fail(e))
      }
      fail(error) { if (!this.isOver) { this.destroy(); this.onFailure(error) } }
      destroy() {
        this.isOver = true
        clearInterval(this.timer)
        clearTimeout(this.reloading)
        if (this.stop) this.stop.abort()
        if (this.address) URL.revokeObjectURL(this.address)
      }
      async fetch(url, type, options) {
        this.stop = this.stop || new AbortController()
        const answer = await fetch(url, { signal: this.stop.signal, ...options })
        if (!answer.ok) throw Object.assign(new Error(url + ': ' + answer.status), { status: answer.status })
        return answer[type]()
      }
      static supports(codecs) {
        return typeof MediaSource === 'function'
          && MediaSource.isTypeSupported(SegmentPlayer.type(codecs))
      }
      static type(codecs) {
        const isSound = !/avc|hvc|hev|av01|vp0?[89]/.test(codecs)
        return (isSound ? 'audio' : 'video') + '/mp4; codecs="' + codecs + '"'
      }

      async begin(url) {
        const here = new URL(url, location.href).href
        const list = parsePlaylist(await this.fetch(here, 'text', { cache: 'no-cache' }), here)
        const variant = list.variants.find(v => v.url === this.track) || list.variants[0]
        if (!variant) throw new Error('no variant in the playlist')
        this.playlist = this.track || variant.url
        let codecs = variant.codecs
        if (this.track && this.track !== variant.url) {
          codecs = codecs.split(',').filter(c => /mp4a|opus|flac|ac-3|ec-3|mp3/i.test(c))[0] || codecs
        }
        if (!SegmentPlayer.supports(codecs)) throw new Error('this browser does not play ' + codecs)
        await this.reload()
        this.source = new MediaSource()
        this.video.src = this.address = URL.createObjectURL(this.source)
        await new Promise(r => this.source.addEventListener('sourceopen', r, { once: true }))
        if (this.isOver) return
        this.codecs = codecs.split(',')
        const first = this.entries.find(e => !e.gap)
        if (!first) throw Object.assign(new Error('nothing to play yet'), { status: 404 })
        const { types } = await this.tracks(first.map)
        this.type = this.typeFor(types)
        this.buffer = this.source.addSourceBuffer(this.type)
        this.source.duration = this.ended ? this.end : Infinity
        this.tellRange()
        if (!this.ended) this.video.currentTime = this.liveStart()
        this.timer = setInterval(() => this.pump().catch(e => this.fail(e)), 200)
      }
      liveStart() { return Math.max(this.start(), this.end - 3 * this.target) }
      start() { return this.entries.length ? this.entries[0].at : 0 }
      tellRange() {
        if (this.source.readyState === 'open' && !this.ended) {
          this.source.setLiveSeekableRange(this.start(), Math.max(this.start(), this.end))
        }
      }

      async reload() {
        const last = this.entries[this.entries.length - 1]
        const ask = last && this.block ? '?_HLS_msn=' + (last.sequence + 1) : ''
        const text = await this.fetch(this.playlist + ask, 'text', { cache: 'no-cache' })
        const list = parsePlaylist(text, this.playlist)
        this.target = list.target
        this.block = list.block
        const known = new Map(this.entries.map(e => [e.sequence, e]))
        let at = null, wall = 0, run = 0
        this.entries = list.entries.map(e => {
          const old = known.get(e.sequence)
          // Where an entry lies never changes, so neither does what has been buffered.
          if (old) run = old.run - e.run
          const entry = old || { ...e, at: at === null ? this.end : at, wall: e.wall || wall, run: e.run + run }
          at = entry.at + entry.seconds
          wall = entry.wall + entry.seconds * 1000
          return entry
        })
        const final = this.entries[this.entries.length - 1]
        if (final) this.end = final.at + final.seconds
        this.ended = list.ended
        if (this.isOver) return
        if (this.source) this.tellRange()
        if (!this.ended) {
          const wait = this.block ? 100 : Math.max(500, this.target * 400)
          this.reloading = setTimeout(() => this.reload().catch(e => this.reloadFailed(e)), wait)
        }
      }
      reloadFailed(error) {
        if (this.isOver) return
        this.reloading = setTimeout(() => this.reload().catch(e => this.reloadFailed(e)), 2000)
      }

      entryAt(time) { return this.entries.find(e => time < e.at + e.seconds - 0.02) }
      bufferedEnd(time) {
        const ranges = this.video.buffered
        for (let i = 0; i < ranges.length; i++) {
          if (ranges.start(i) <= time + 0.1 && time < ranges.end(i)) return ranges.end(i)
        }
        return time
      }
      async pump() {
        if (this.isOver || this.isBusy || this.buffer.updating || this.source.readyState === 'closed') return
        const now = this.video.currentTime
        if (now < this.start() - 0.5) { this.video.currentTime = this.start() + 0.1; return }
        // What is only just ahead of a small hole counts as following it.
        let end = this.bufferedEnd(now)
        for (let next; (next = this.bufferedEnd(end + 0.12)) > end + 0.12;) end = next
        const entry = this.entryAt(end + 0.05)
        if (!entry) {
          if (this.ended && this.entries.length && this.source.readyState === 'open') {
            this.source.endOfStream()
          }
          return
        }
        if (entry.gap || entry.isLost) {
          // Nothing to show here. Whoever has come this far goes on behind it.
          const behind = this.entries.find(e => e.at > entry.at && !e.gap && !e.isLost)
          if (behind && now > entry.at - 0.25) this.video.currentTime = behind.at + 0.02
          else if (behind) await this.take(behind, now)
          return
        }
        await this.take(entry, now)
      }
      async take(entry, now) {
        if (entry.at > now + SegmentPlayer.ahead) return
        const ranges = this.video.buffered
        for (let i = 0; i < ranges.length; i++) {
          if (ranges.start(i) <= entry.at + 0.1 && ranges.end(i) >= entry.at + entry.seconds - 0.1) return
        }
        this.isBusy = true
        try {
          await this.append(entry)
          if (ranges.length && ranges.start(0) < now - 2 * SegmentPlayer.behind) {
            await this.change(() => this.buffer.remove(0, now - SegmentPlayer.behind))
          }
        } catch (error) {
          if (this.isOver || error.name === 'AbortError') return
          if (error.name === 'QuotaExceededError') {
            await this.change(() => this.buffer.remove(0, Math.max(0.1, now - 5)))
          } else if (error.status === 404 || (entry.tries = (entry.tries || 0) + 1) > 5) entry.isLost = true
          else await new Promise(r => setTimeout(r, 500 * entry.tries))
        } finally { this.isBusy = false }
      }
      async tracks(map) {
        if (!this.maps.has(map)) {
          const init = await this.fetch(map, 'arrayBuffer')
          this.maps.set(map, { init, ...tracksOf(init) })
        }
        return this.maps.get(map)
      }
      // The playlist names the codecs of all runs; these are the ones of one.
      typeFor(types) {
        const own = types.map(t => this.codecs.find(c => c.startsWith(t)) || t)
        return SegmentPlayer.type(own.join(','))
      }
      async append(entry) {
        const { init, scales, types } = await this.tracks(entry.map)
        const bytes = await this.fetch(entry.url, 'arrayBuffer')
        if (this.isOver) return
        if (!this.offsets.has(entry.run)) this.offsets.set(entry.run, entry.at - startOf(bytes, scales))
        if (this.map !== entry.map) {
          if (this.buffer.updating) return
          this.map = entry.map
          const type = this.typeFor(types)
          if (type !== this.type) this.buffer.changeType(this.type = type)
          await this.change(() => this.buffer.appendBuffer(init))
        }
        this.buffer.timestampOffset = this.offsets.get(entry.run)
        await this.change(() => this.buffer.appendBuffer(bytes))
      }
      change(body) {
        return new Promise((done, failed) => {
          this.buffer.addEventListener('updateend', done, { once: true })
          this.buffer.addEventListener('error', () => failed(new Error('cannot decode a segment')), { once: true })
          try { body() } catch (error) { failed(error) }
        })
      }

      // Wall-clock milliseconds of a media time and back.
      toWall(time) {
        const e = this.entryAt(time) || this.entries[this.entries.length - 1]
        return e ? e.wall + Math.min(Math.max(time - e.at, 0), e.seconds) * 1000 : 0
      }
      toMedia(wall) {
        for (const e of this.entries) {
          if (wall < e.wall) return e.at
          if (wall < e.wall + e.seconds * 1000) return e.at + (wall - e.wall) / 1000
        }
        return this.end
      }
    }

    """#
}
