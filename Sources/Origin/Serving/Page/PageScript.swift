extension Page {
  static let script =
    player + #"""
      const $ = id => document.getElementById(id)
      const video = $('video')
      const native = video.canPlayType('application/vnd.apple.mpegurl') !== ''
      let list = [], clock = 0, open = null, spans = [], timers = [], stuckSince = 0, retries = 0, player = null

      // Words and numbers
      const two = n => String(n).padStart(2, '0')
      const span = ms => {
        const s = Math.round(ms / 1000), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60
        return h ? h + ':' + two(m) + ':' + two(s % 60) : m + ':' + two(s % 60)
      }
      const size = b => {
        const units = ['B', 'kB', 'MB', 'GB', 'TB']
        let i = 0
        while (b >= 999.5 && i < 4) { b /= 1000; i++ }
        return (i && b < 10 ? b.toFixed(1) : Math.round(b)) + ' ' + units[i]
      }
      const ago = ms => {
        const s = Math.max(0, Math.round(ms / 1000))
        if (s < 90) return s + ' s ago'
        if (s < 5400) return Math.round(s / 60) + ' min ago'
        return s < 129600 ? Math.round(s / 3600) + ' h ago' : Math.round(s / 86400) + ' days ago'
      }
      const day = ms => new Date(ms).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
      const time = ms => new Date(ms).toLocaleTimeString()
      const make = (tag, text, type) => {
        const e = document.createElement(tag)
        if (text !== undefined) e.textContent = text
        if (type) e.className = type
        return e
      }
      const say = text => { $('status').textContent = text }
      const show = (text, ...nodes) => {
        const m = $('message')
        m.replaceChildren(text || '', ...nodes)
        m.hidden = !text && !nodes.length
      }

      // The server
      async function get(path) {
        const answer = await fetch(path, { cache: 'no-store' })
        if (answer.status === 401) { askForToken(); throw new Error('a token is needed') }
        if (!answer.ok) throw new Error('the server says ' + answer.status)
        $('signOut').hidden = !sessionStorage.getItem('signedIn')
        return answer.json()
      }
      function askForToken() {
        $('list').hidden = $('player').hidden = true
        $('signIn').hidden = false
        $('token').focus()
      }
      async function signIn(token) {
        const answer = await fetch('/session', { method: 'POST', body: token })
        if (!answer.ok) { askForToken(); $('signInMessage').textContent = 'This token opens nothing here.'; return }
        sessionStorage.setItem('signedIn', '1')
        $('signIn').hidden = true
        $('token').value = ''
        route()
      }
      $('signIn').addEventListener('submit', e => { e.preventDefault(); signIn($('token').value) })
      $('signOut').addEventListener('click', async () => {
        await fetch('/session', { method: 'DELETE' })
        sessionStorage.removeItem('signedIn')
        location.reload()
      })

      // The list
      const state = r => {
        if (r.state === 'ended') return ['ended', 'badge']
        const silence = clock - r.lastArrival, behind = clock - r.end
        if (silence > 30000) return ['silent for ' + span(silence), 'badge silent']
        // The name of the newest segment tells how much the recorder still has to send.
        return behind < 30000 ? ['live', 'badge live'] : ['live, ' + span(behind) + ' behind', 'badge silent']
      }
      // The first key frame of a minute. The address changes once a minute only, so that a browser keeps it.
      function picture(name, ms) {
        const image = make('img')
        image.alt = ''
        image.loading = 'lazy'
        image.src = '/' + name + '/thumbnail.jpg?at=' + Math.floor(ms / 60000) * 60000
        image.addEventListener('error', () => image.remove())
        return image
      }
      function card(r) {
        const item = make('li'), link = make('a')
        link.href = '#/' + r.name
        const [text, type] = state(r)
        if (r.start && r.end && r.renditions.includes('main')) link.append(picture(r.name, r.state === 'ended' ? r.start : r.end))
        link.append(make('span', text, type), make('strong', r.name),
          make('span', r.start ? day(r.start) : ''),
          make('span', span(r.milliseconds) + ' · ' + size(r.bytes) + (r.runs > 1 ? ' · ' + r.runs + ' runs' : '')),
          make('span', 'last arrival ' + ago(clock - r.lastArrival)))
        if (r.missing) {
          link.append(make('span', r.missing + (r.missing > 1 ? ' segments missing' : ' segment missing'), 'warn'))
        }
        item.append(link)
        return item
      }
      function drawList() {
        const wanted = $('filter').value.toLowerCase()
        const shown = list.filter(r => r.name.toLowerCase().includes(wanted))
        const focused = document.activeElement && document.activeElement.getAttribute('href')
        $('recordings').replaceChildren(...shown.slice(0, 500).map(card))
        const again = focused && $('recordings').querySelector('a[href="' + CSS.escape(focused) + '"]')
        if (again) again.focus()
        $('empty').hidden = shown.length > 0
        $('empty').textContent = list.length ? 'No recording has this in its name.'
          : 'Nothing has been recorded yet. On the recording machine: segrec record --input … --upload ' + location.origin
        const live = list.filter(r => r.state === 'live').length
        say(list.length + (list.length === 1 ? ' recording' : ' recordings') + (live ? ', ' + live + ' live' : ''))
      }
      async function loadList() {
        try {
          const answer = await get('/api/recordings')
          list = answer.recordings
          clock = answer.now
          if (!open) drawList()
        } catch (e) { say('Cannot list: ' + e.message) }
      }
      $('filter').addEventListener('input', drawList)

      // The player
      const edge = () => player ? player.end : video.seekable.length ? video.seekable.end(video.seekable.length - 1) : 0
      const begin = () => player ? player.start() : video.seekable.length ? video.seekable.start(0) : 0
      const isLive = () => open && open.state === 'live'
      function source() {
        const track = $('sound').value
        return '/' + open.name + (track ? '/' + track : '') + (open.state === 'ended' ? '/vod.m3u8' : '/live.m3u8')
      }
      function explain() {
        const link = make('a', location.origin + source())
        link.href = source()
        const file = make('a', open.name + '.mp4')
        file.href = '/' + open.name + '/' + open.name + '.mp4'
        show('This browser has no player for HLS. Chrome 142 or newer, Edge and Safari have one; '
          + 'VLC, mpv and ffplay play this link: ', link, ' All of it as one file: ', file)
      }
      const start = () => video.play().catch(e => {
        if (e.name === 'NotAllowedError') { video.muted = true; video.play().catch(() => {}) }
      })
      // The browser's own player, but for live streams where it cannot go back (all but Safari's) and where there is none.
      function load() {
        stuckSince = 0
        show('')
        const resumed = !isLive() && open.isLoaded && !video.ended ? video.currentTime : 0
        open.isLoaded = true
        if (player) { player.destroy(); player = null }
        const hasSource = typeof MediaSource === 'function'
        if (hasSource && (!native || (isLive() && !('getStartDate' in video)))) {
          const track = $('sound').value
          const list = '/' + open.name + (open.state === 'ended' ? '/vod.m3u8' : '/live.m3u8')
          const address = track ? location.origin + source() : ''
          player = new SegmentPlayer(video, list, address, e => playerFailed(e))
        } else if (native) video.src = source()
        else { explain(); return }
        video.playbackRate = Number($('speed').value)
        if (resumed) video.addEventListener('loadedmetadata', () => { video.currentTime = resumed }, { once: true })
        start()
      }
      function playerFailed(error) {
        player = null
        if (!open) return
        if (error.status === 404 || error.status >= 500 || error.name === 'TypeError') { tryAgain(); return }
        if (native) { video.src = source(); start() } else explain()
      }
      function tryAgain() {
        if (retries++ > 100) { show('The stream cannot be played.'); return }
        show(isLive() ? 'Waiting for the first segments …' : 'The stream broke off; trying again …')
        const wanted = open
        setTimeout(() => { if (open === wanted) load() }, 2000)
      }
      async function openRecording(name) {
        close()
        open = { name, state: 'live' }
        $('list').hidden = true
        $('player').hidden = false
        $('title').textContent = name
        document.title = name + ' · segrec'
        try { await loadTimeline(true) } catch (e) { show('This recording cannot be opened: ' + e.message); return }
        load()
        $('title').focus()
        timers = [setInterval(() => loadTimeline(false).catch(() => {}), 4000), setInterval(watch, 250)]
      }
      function close() {
        timers.forEach(clearInterval)
        timers = []
        if (player) { player.destroy(); player = null }
        if (open) { open = null; video.removeAttribute('src'); video.load() }
        document.title = 'segrec'
      }
      async function loadTimeline(isFirst) {
        if (!open || (!isFirst && (open.state === 'ended' || document.hidden))) return
        const wanted = open.name
        const answer = await get('/api/recordings/' + wanted)
        if (!open || open.name !== wanted) return
        spans = answer.spans.map(s => ({ kind: s[0], run: s[1], start: s[2], ms: s[3], count: s[4] }))
        clock = answer.now
        const wasLive = open.state === 'live' && !isFirst
        Object.assign(open, { state: answer.state, lastArrival: answer.lastArrival, end: answer.end })
        if (isFirst) {
          const tracks = answer.renditions.map(r => new Option(r === 'main' ? 'picture and sound' : r, r))
          $('sound').replaceChildren(new Option('all', ''), ...tracks)
          $('soundLabel').hidden = answer.renditions.length < 2
        }
        if (wasLive && open.state === 'ended') show('This recording has ended. ', wholeButton())
        drawTimeline()
      }
      function wholeButton() {
        const button = make('button', 'Watch it from the start')
        button.addEventListener('click', load)
        return button
      }

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
      function drawTimeline() {
        const [from, to] = bounds(), all = Math.max(1, to - from)
        $('spans').replaceChildren(...spans.map(s => {
          const e = make('div', undefined, ['present', 'late', 'missing'][s.kind] + (s.run % 2 ? ' odd' : ''))
          e.style.left = 100 * (s.start - from) / all + '%'
          e.style.width = 100 * s.ms / all + '%'
          e.title = ['recorded', 'came late', 'missing'][s.kind] + ', ' + time(s.start) + ', ' + span(s.ms)
          return e
        }))
        $('from').textContent = time(from)
        $('to').textContent = time(to)
        const runs = new Set(spans.map(s => s.run)).size
        const gone = spans.filter(s => s.kind === 2).reduce((n, s) => n + s.count, 0)
        const there = parts().reduce((n, s) => n + s.ms, 0)
        $('facts').textContent = '· ' + span(there) + ' in ' + runs + (runs === 1 ? ' run' : ' runs')
          + (gone ? ', ' + gone + ' segments missing' : '')
        const badge = $('badge'), [text, type] = state(open)
        badge.textContent = text
        badge.className = type
        $('toLive').hidden = !isLive()
        const stream = make('a', source())
        stream.href = source()
        const file = make('a', open.name + '.mp4')
        file.href = '/' + open.name + '/' + open.name + '.mp4'
        $('links').replaceChildren('Stream for other players: ', stream, ' · All of it as one file: ', file)
      }
      function seekTo(media) {
        const first = begin(), last = edge()
        if (last) video.currentTime = Math.min(Math.max(media, first), Math.max(first, last - (isLive() ? 1 : 0.1)))
      }

      // A player stops where its buffer has a hole: at a gap, or at a seam between runs. Step over it.
      function watch() {
        const t = video.currentTime
        if (!$('head').hidden || video.readyState > 0) {
          const [from, to] = bounds(), at = toWall(t)
          $('head').hidden = video.readyState === 0
          $('head').style.left = 100 * Math.min(Math.max((at - from) / Math.max(1, to - from), 0), 1) + '%'
          $('at').textContent = time(at)
          $('timeline').setAttribute('aria-valuetext', time(at))
        }
        document.querySelector('[data-do=play]').textContent = video.paused ? 'Play' : 'Pause'
        if (video.paused || video.ended || video.seeking || video.readyState > 2) { stuckSince = 0; return }
        if (!stuckSince) { stuckSince = Date.now(); return }
        const stuck = Date.now() - stuckSince
        if (stuck > 400) {
          for (let i = 0; i < video.buffered.length; i++) {
            const start = video.buffered.start(i)
            if (start > t + 0.001) { video.currentTime = start + 0.05; stuckSince = 0; return }
          }
        }
        // Nothing is buffered past the hole yet: a little further on the player fetches it.
        if (stuck > 2500 && !player && t + 0.5 < edge()) {
          video.currentTime = t + 0.5
          stuckSince = Date.now()
          return
        }
        if (stuck > 20000) load()
      }
      video.addEventListener('error', () => {
        if (!open || !video.error) return
        if (video.error.code === 3 || video.error.code === 4 && retries > 30) {
          show('The stream cannot be played: ' + (video.error.message || 'error ' + video.error.code))
        } else tryAgain()
      })
      video.addEventListener('playing', () => { retries = 0; show('') })

      // Hands
      const act = {
        play: () => video.paused ? video.play().catch(() => {}) : video.pause(),
        back30: () => seekTo(video.currentTime - 30), back10: () => seekTo(video.currentTime - 10),
        on10: () => seekTo(video.currentTime + 10), back5: () => seekTo(video.currentTime - 5),
        on5: () => seekTo(video.currentTime + 5),
        live: () => { seekTo(edge() - 6); video.play().catch(() => {}) },
        start: () => seekTo(begin()), end: () => isLive() ? act.live() : seekTo(edge() - 5),
        mute: () => { video.muted = !video.muted },
        full: () => document.fullscreenElement ? document.exitFullscreen() : $('stage').requestFullscreen()
      }
      $('controls').addEventListener('click', e => { const what = e.target.dataset.do; if (what) act[what]() })
      $('speed').addEventListener('change', () => { video.playbackRate = Number($('speed').value) })
      $('sound').addEventListener('change', load)
      const wallAt = x => {
        const box = $('timeline').getBoundingClientRect(), [from, to] = bounds()
        return from + (to - from) * Math.min(Math.max((x - box.left) / box.width, 0), 1)
      }
      $('timeline').addEventListener('pointerdown', e => { seekTo(toMedia(wallAt(e.clientX))); $('timeline').focus() })
      $('timeline').addEventListener('pointermove', e => {
        const wall = wallAt(e.clientX), box = $('timeline').getBoundingClientRect(), minute = Math.floor(wall / 60000)
        $('peek').hidden = e.pointerType === 'touch'
        $('peek').style.left = Math.min(Math.max(e.clientX - box.left, 80), box.width - 80) + 'px'
        $('peekTime').textContent = time(wall)
        if (open && $('peek').dataset.minute !== open.name + minute) {
          $('peek').dataset.minute = open.name + minute
          $('peek').querySelectorAll('img').forEach(image => image.remove())
          $('peek').prepend(picture(open.name, wall))
        }
      })
      $('timeline').addEventListener('pointerleave', () => { $('peek').hidden = true })
      document.addEventListener('keydown', e => {
        if (e.ctrlKey || e.metaKey || e.altKey) return
        const typing = /INPUT|SELECT/.test(e.target.tagName)
        if (e.key === '/' && !open && !typing) { e.preventDefault(); $('filter').focus(); return }
        if (e.key === 'Escape') { if (open) location.hash = '#/'; else { $('filter').value = ''; drawList() } return }
        if (!open || typing || (e.key === ' ' && e.target.tagName === 'BUTTON') || e.target === video) return
        const keys = { ' ': 'play', k: 'play', j: 'back10', l: 'on10', ArrowLeft: 'back5', ArrowRight: 'on5',
          Home: 'start', End: 'end', m: 'mute', f: 'full' }
        const what = keys[e.key]
        if (what) { e.preventDefault(); act[what]() }
      })

      function route() {
        const hash = decodeURIComponent(location.hash.slice(1))
        if (hash.startsWith('token=')) {
          // Browsers do not send this part of an address; it is taken out of the history as well.
          history.replaceState(null, '', location.pathname)
          signIn(hash.slice(6))
          return
        }
        const name = hash.startsWith('/') ? hash.slice(1) : ''
        if (name) { openRecording(name); return }
        close()
        $('player').hidden = true
        $('list').hidden = false
        loadList()
      }
      addEventListener('hashchange', route)
      setInterval(() => { if (!open && !document.hidden && $('signIn').hidden) loadList() }, 4000)
      route()
      """#
}
