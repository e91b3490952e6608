extension Page {
  /// Reads playlists and the few boxes of MP4 that the page's player has to know.
  static let media = #"""
    'use strict'
    // Reads a playlist. A media playlist gives entries; a multivariant one gives variants and sound tracks.
    function parsePlaylist(text, base) {
      const list = { entries: [], variants: [], sounds: [], target: 5, ended: false, block: false }
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
        else if (line.startsWith('#EXT-X-MEDIA:')) {
          const { URI, NAME } = attributes(value)
          list.sounds.push({ name: NAME, url: URI && new URL(URI, base).href })
        }
        else if (line && line[0] !== '#') {
          const url = new URL(line, base).href
          if (next.variant) {
            const { CODECS = '', RESOLUTION = '', BANDWIDTH } = next.variant
            list.variants.push({ url, codecs: CODECS, size: RESOLUTION, rate: Number(BANDWIDTH) })
          }
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
    // From an init section: time scales by track number, the sample entries' types (`avc1`, `mp4a`), and the tracks of
    // sound. Where another sound is chosen these become boxes that are skipped (`free`), here and in every segment.
    function tracksOf(bytes, isMuted) {
      const view = new DataView(bytes), scales = {}, types = [], sounds = new Set()
      const each = (a, b, wanted, body) => eachBox(view, a, b, (type, a, b) => { if (type === wanted) body(a, b) })
      each(0, view.byteLength, 'moov', (a, b) => {
        each(a, b, 'trak', (a, b) => {
          let track = 0
          each(a, b, 'tkhd', a => { track = view.getUint32(a + (view.getUint8(a) ? 20 : 12)) })
          each(a, b, 'mdia', (c, d) => {
            each(c, d, 'mdhd', a => { scales[track] = view.getUint32(a + (view.getUint8(a) ? 20 : 12)) })
            each(c, d, 'hdlr', c => { if (isMuted && view.getUint32(c + 8) === 0x736f756e) sounds.add(track) })
            each(c, d, 'minf', (a, b) => each(a, b, 'stbl', (a, b) => each(a, b, 'stsd', (a, b) => {
              if (!sounds.has(track)) eachBox(view, a + 8, b, type => types.push(type))
            })))
          })
          if (sounds.has(track)) free(view, a)
        })
        each(a, b, 'mvex', (a, b) => each(a, b, 'trex', a => { if (sounds.has(view.getUint32(a + 4))) free(view, a) }))
      })
      return { init: bytes, scales, types, sounds }
    }
    const free = (view, payload) => view.setUint32(payload - 4, 0x66726565)
    function mute(bytes, sounds) {
      const view = new DataView(bytes)
      if (sounds.size) eachBox(view, 0, view.byteLength, (type, a, b) => type === 'moof' && eachBox(view, a, b, (type, c, d) => {
        if (type !== 'traf') return
        eachBox(view, c, d, (type, e) => { if (type === 'tfhd' && sounds.has(view.getUint32(e + 4))) free(view, c) })
      }))
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

    """#
}
