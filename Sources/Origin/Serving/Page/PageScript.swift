extension Page {
  static let script =
    media + feed + player + timeline + #"""
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
        if (!answer.ok) throw Object.assign(new Error('the server says ' + answer.status), { status: answer.status })
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
      const cards = new Map()
      function card(r) {
        const item = make('li'), link = make('a')
        link.href = '#/' + r.name
        const [text, type] = state(r)
        if (r.start && r.end && r.renditions.includes('main')) {
          // A picture that stays is not loaded again.
          const image = picture(r.name, r.state === 'ended' ? r.start : r.end), old = cards.get(r.name)
          link.append(old && old.src === image.src ? old : image)
          cards.set(r.name, link.firstChild)
        }
        link.append(make('span', text, type), make('strong', r.name),
          make('span', r.start ? day(r.start) : ''),
          make('span', span(r.milliseconds) + ' · ' + size(r.bytes) + (r.runs > 1 ? ' · ' + r.runs + ' runs' : '')))
        if (r.state === 'live') link.append(make('span', 'last arrival ' + ago(clock - r.lastArrival)))
        if (r.missing) link.append(make('span', segments(r.missing) + ' missing', 'warn'))
        item.append(link)
        return item
      }
      const segments = n => n + (n === 1 ? ' segment' : ' segments')
      function drawList() {
        const wanted = $('filter').value.toLowerCase()
        const shown = list.filter(r => r.name.toLowerCase().includes(wanted))
        const focused = document.activeElement && document.activeElement.getAttribute('href')
        $('recordings').replaceChildren(...shown.slice(0, 500).map(card))
        const again = focused && $('recordings').querySelector('a[href="' + CSS.escape(focused) + '"]')
        if (again) again.focus()
        $('empty').hidden = shown.length > 0 && shown.length <= 500
        $('empty').textContent = shown.length ? 'And ' + (shown.length - 500) + ' more: filter by name to see them.'
          : list.length ? 'No recording has this in its name.'
          : 'Nothing has been recorded yet. On the recording machine: segrec record --input … --upload ' + location.origin
        const live = list.filter(r => r.state === 'live').length
        say(list.length + (list.length === 1 ? ' recording' : ' recordings') + (live ? ', ' + live + ' live' : ''))
      }
      async function loadList() {
        try {
          const answer = await get('/api/recordings')
          // What goes on comes first; nothing changes places while somebody looks.
          const isLive = r => r.state === 'live'
          list = answer.recordings.sort((a, b) => isLive(b) - isLive(a) || (isLive(a) ? b.start - a.start : b.end - a.end)
            || (a.name < b.name ? -1 : 1))
          clock = answer.now
          if (!open) drawList()
        } catch (e) { say('Cannot list: ' + e.message) }
      }
      $('filter').addEventListener('input', drawList)

      // The player
      const edge = () => player ? player.end : video.seekable.length ? video.seekable.end(video.seekable.length - 1) : 0
      const begin = () => player ? player.start() : video.seekable.length ? video.seekable.start(0) : 0
      const isLive = () => open && open.state === 'live'
      const source = () => '/' + open.name + (open.state === 'ended' ? '/vod.m3u8' : '/live.m3u8')
      function anchor(href, text) {
        const link = make('a', text || href)
        link.href = href
        return link
      }
      const file = () => anchor('/' + open.name + '/' + open.name + '.mp4', open.name + '.mp4')
      function explain(error) {
        show((error ? 'The page cannot play this: ' + error.message + '.' : 'This browser has no player for HLS.')
          + ' Chrome, Edge, Firefox and Safari of today have what it takes; VLC, mpv and ffplay play this link: ',
          anchor(source(), location.origin + source()), ' All of it as one file: ', file())
      }
      const start = () => video.play().catch(e => {
        if (e.name === 'NotAllowedError') { video.muted = true; video.play().catch(() => {}) }
      })
      // The page's own player where there are media sources, but for Safari, whose player does all of it. Where the page's
      // fails (a codec that only the browser's own takes) or there is no media source: the browser's.
      function load() {
        stuckSince = 0
        show('')
        const now = video.currentTime
        const wall = open.isLoaded && !video.ended && video.readyState && !(isLive() && now > edge() - 20) ? toWall(now) : 0
        open.isLoaded = true
        if (player) { player.destroy(); player = null }
        if (typeof MediaSource === 'function' && !open.isForeign && !(native && 'getStartDate' in video)) {
          const wanted = { sound: $('sound').value, size: $('quality').value || open.size || '', wall, before, start, tell, took }
          player = new SegmentPlayer(video, source(), wanted, e => playerFailed(e))
        } else if (native) {
          video.src = source()
          if (wall) video.addEventListener('loadedmetadata', () => seekTo(toMedia(wall)), { once: true })
          start()
        } else { explain(); return }
        video.playbackRate = Number($('speed').value)
      }
      // Fills a choice from what the playlist offers, once for a recording.
      function offer(id, first, options) {
        const chosen = $(id).value
        $(id).replaceChildren(new Option(first, ''), ...options)
        $(id).value = chosen
        if (!$(id).value) $(id).value = ''
        $(id + 'Label').hidden = !options.length
      }
      function tell({ sounds, variants }) {
        open.variants = variants
        offer('sound', 'Programme', sounds.filter(s => s.url).map(s => new Option(s.name, s.name)))
        const short = v => Math.min(...v.size.split('x').map(Number)) + 'p'
        offer('quality', 'automatic', variants.length < 2 ? [] : variants.map(v => new Option(short(v), v.size)))
      }
      // How long a segment took to come, of the time it lasts. Where some came more slowly than they are shown: the best
      // quality that would come in time. Where for a minute the next better one would have come in half its time: that
      // one, and if it was too much, twice as long before the next try. A quality that was chosen stays.
      const tooSlow = 2.7
      function took(share) {
        if ($('quality').value || !open || open.variants.length < 2) return
        const rates = [...open.variants].sort((a, b) => b.rate - a.rate)
        const now = rates.findIndex(v => v.size === (open.size || open.variants[0].size))
        if (now < 0) return
        const { rate } = rates[now], better = rates[now - 1]
        open.slow = share > 0.9 ? (open.slow || 0) + share : 0
        open.easy = better && share * better.rate < rate / 2 ? (open.easy || 0) + 1 : 0
        let next
        if (open.slow >= tooSlow) {
          const less = rates.slice(now + 1)
          next = less.find(v => v.rate * share < rate * 0.8) || less.pop()
        } else if (open.easy >= open.patience) {
          next = better
          open.patience *= 2
        }
        if (!next) return
        open.slow = open.easy = 0
        open.size = next.size
        load()
      }
      // Seconds of the recording before a time, no less: where the live list begins in the player's time.
      function before(wall) {
        const from = bounds()[0], all = spans.reduce((n, s) => n + Math.min(Math.max(wall - s.start, 0), s.ms), 0)
        return wall - from < 1500 ? 0 : Math.max(wall - from, all) / 1000 + 1
      }
      function playerFailed(error) {
        player = null
        if (!open) return
        if (error.status === 404 || error.status >= 500 || error.name === 'TypeError') { tryAgain(); return }
        if (native) { open.isForeign = true; load() } else explain(error)
      }
      function tryAgain() {
        if (retries++ > 100) { show('The stream cannot be played.'); return }
        show(isLive() ? 'Waiting for segments …' : 'The stream broke off; trying again …')
        const wanted = open
        setTimeout(() => { if (open === wanted) load() }, 2000)
      }
      async function openRecording(name) {
        close()
        open = { name, state: 'live', patience: 12 }
        $('list').hidden = $('there').hidden = $('gone').hidden = true
        $('player').hidden = false
        for (const id of ['sound', 'quality']) $(id).value = ''
        $('badge').className = 'none'
        $('title').textContent = name
        document.title = name + ' · segrec'
        try { await loadTimeline(true) } catch (e) {
          if (open && open.name === name) lose(e)
          return
        }
        if (!open || open.name !== name) return
        $('there').hidden = false
        load()
        $('title').focus()
        timers = [setInterval(() => loadTimeline(false).catch(e => { if (e.status === 404) lose(e) }), 4000),
          setInterval(watch, 250)]
      }
      // A recording that was never here, or has been removed.
      function lose(error) {
        close()
        $('there').hidden = true
        $('gone').hidden = false
        $('gone').textContent = error.status === 404 ? 'There is no recording of this name, or no longer.'
          : 'This recording cannot be opened now: ' + error.message + '.'
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
        Object.assign(open, answer)
        if (wasLive && open.state === 'ended') show('This recording has ended. ', wholeButton())
        drawTimeline()
      }
      function wholeButton() {
        const button = make('button', 'Watch it from the start')
        button.addEventListener('click', () => { open.isLoaded = false; load() })
        return button
      }

      function seekTo(media) {
        const first = begin(), last = edge()
        if (last) video.currentTime = Math.min(Math.max(media, first), Math.max(first, last - (isLive() ? 1 : 0.1)))
      }

      // Back beyond the live list: the server has the rest.
      async function seekWall(wall) {
        if (player && isLive() && wall < player.toWall(begin()) - 500) {
          const wanted = player
          try { await player.extend() } catch (e) { show('What is older cannot be had: ' + e.message) }
          if (player !== wanted) return
        }
        seekTo(toMedia(wall))
      }
      function seekBy(seconds) {
        const media = video.currentTime + seconds
        if (player && media < begin()) seekWall(toWall(begin()) + (media - begin()) * 1000)
        else seekTo(media)
      }

      // A player stops where its buffer has a hole: at a gap, or at a seam between runs. Step over it.
      function watch() {
        const t = video.currentTime
        if (!$('head').hidden || video.readyState > 0) {
          const [from, to] = bounds(), at = toWall(t), slider = $('timeline')
          $('head').hidden = video.readyState === 0
          $('head').style.left = 100 * place(at) + '%'
          $('at').textContent = slider.ariaValueText = stamp(at)
          slider.ariaValueMin = 0
          slider.ariaValueMax = Math.round((to - from) / 1000)
          slider.ariaValueNow = Math.round((at - from) / 1000)
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
        back30: () => seekBy(-30), back10: () => seekBy(-10), on10: () => seekBy(10), back5: () => seekBy(-5),
        on5: () => seekBy(5),
        live: () => { seekTo(edge() - 6); video.play().catch(() => {}) },
        start: () => seekWall(bounds()[0]), end: () => isLive() ? act.live() : seekTo(edge() - 5),
        mute: () => { video.muted = !video.muted },
        full: () => document.fullscreenElement ? document.exitFullscreen() : $('stage').requestFullscreen()
      }
      $('controls').addEventListener('click', e => { const what = e.target.dataset.do; if (what) act[what]() })
      $('speed').addEventListener('change', () => { video.playbackRate = Number($('speed').value) })
      for (const id of ['sound', 'quality']) $(id).addEventListener('change', load)
      $('timeline').addEventListener('pointerdown', e => { seekWall(wallAt(e.clientX)); $('timeline').focus() })
      $('timeline').addEventListener('pointermove', e => {
        const wall = wallAt(e.clientX), box = $('timeline').getBoundingClientRect(), minute = Math.floor(wall / 60000)
        $('peek').hidden = e.pointerType === 'touch'
        $('peek').style.left = Math.min(Math.max(e.clientX - box.left, 80), box.width - 80) + 'px'
        $('peekTime').textContent = stamp(wall)
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
