import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { typed, useResource } from '../hooks.js'
import { nameOf, networkAt, readNetwork, readPlaces, steadyOf } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Empty, Field, Figure, html, Legend, loaded, Select, Table } from '../parts.js'
import { serverNow } from '../session.js'
import { texts } from '../texts.js'
import { clockText } from '../times.js'

const t = texts.map

const DAY_MS = 86_400_000
const STEPS = 200
const FRAME_MS = 60
const EVERY_MS = 60_000

/** The network on a map: what lives, what was added and removed, with a slider over its history. */
export function MapView() {
  const [span, setSpan] = useState({ days: 1, from: '', to: '' })
  const network = useResource(
    async () => {
      const { from, to } = boundsOf(span)
      // Without the names of the places the tables would show ids for a moment, and the map nothing.
      const [read] = await Promise.all([readNetwork(from, to), readPlaces()])
      return read
    },
    [span],
    { everyMs: span.days > 0 ? EVERY_MS : undefined },
  )
  const picker = html`<${SpanPicker} span=${span} onChange=${setSpan} />`
  return html`<div class="map-view">
    ${network.data === undefined && picker}
    ${loaded(network, (data) => html`<${Player} key=${`${span.days} ${span.from} ${span.to}`} network=${data} picker=${picker} />`)}
  </div>`
}

/** @typedef {{ days: number, from: string, to: string }} Span a number of days until now; 0: the days from and to */

/** @param {Span} span @returns {{ from: Date, to: Date | undefined }} */
function boundsOf({ days, from, to }) {
  if (days > 0) return { from: new Date(serverNow() - days * DAY_MS), to: undefined }
  // The day `to` is shown to its end. On a day of a change of the clock that is not 24 hours later.
  const end = new Date(`${to}T00:00`)
  end.setDate(end.getDate() + 1)
  return { from: new Date(`${from}T00:00`), to: end.getTime() < serverNow() ? end : undefined }
}

/** @param {{ span: Span, onChange: (span: Span) => void }} props */
function SpanPicker({ span, onChange }) {
  const today = dateText(new Date(serverNow()))
  const choose = (/** @type {string} */ value) => {
    const days = Number(value)
    const since = dateText(new Date(serverNow() - 7 * DAY_MS))
    onChange(days > 0 ? { days, from: '', to: '' } : { days, from: since, to: today })
  }
  const set = (/** @type {'from' | 'to'} */ name) =>
    typed((value) => {
      const next = { ...span, [name]: value }
      if (next.from === '' || next.to === '') return
      onChange(next.from <= next.to ? next : { ...next, from: next.to, to: next.from })
    })
  return html`<div class="toolbar">
    <${Select} label="Show" value=${span.days} onChoose=${choose} options=${Object.entries(t.spans)} />
    ${
      span.days === 0 &&
      html`<${Field} label="From" type="date" max=${today} value=${span.from} onChange=${set('from')} />
        <${Field} label="to" type="date" max=${today} value=${span.to} onChange=${set('to')} />`
    }
  </div>`
}

/** The day in the reader's zone, as an input of dates takes it: so Swedish writes it. @param {Date} date */
function dateText(date) {
  return date.toLocaleDateString('sv')
}

const NO_FOCUS = { focus: /** @type {string | undefined} */ (undefined), isShown: false }

/** @param {{ network: import('../map/network.js').Network, picker: unknown }} props */
function Player({ network, picker }) {
  const [step, setStep] = useState(STEPS)
  const [playing, setPlaying] = useState(false)
  const [{ focus, isShown }, setFocus] = useState(NO_FOCUS)
  // A place that is clicked on the map is in view already.
  const click = (/** @type {string | undefined} */ id) => setFocus({ focus: id, isShown: false })
  const show = (/** @type {string} */ id) => setFocus({ focus: id, isShown: true })
  const first = Math.min(network.changes[0]?.at ?? network.from, network.to)
  const at = first + ((network.to - first) * step) / STEPS
  const steady = useMemo(() => steadyOf(network), [network])
  const { returned, added, removed } = useMemo(() => networkAt(network, at), [network, at])
  const still = useMemo(() => [...steady, ...returned], [steady, returned.join('\n')])
  const all = useMemo(() => [...still, ...added], [still, added])
  usePlaying(playing, setPlaying, setStep)
  if (network.live.length + network.changes.length === 0) {
    return html`${picker}<${Empty} texts=${t.empty} />`
  }
  const live = all.length
  const play = () => {
    if (step === STEPS) setStep(0)
    setPlaying(!playing)
  }
  const seek = typed((value) => {
    setPlaying(false)
    setStep(Number(value))
  })
  return html`
    <div class="row">
      ${picker}
      <div class="figures">
        <${Figure} label="live routes">${live.toLocaleString()}<//>
        <${Figure} label="added">${added.length.toLocaleString()}<//>
        <${Figure} label="removed">${removed.length.toLocaleString()}<//>
      </div>
      <${PlacePicker} onPlace=${show} />
    </div>
    <div class="player">
      <button type="button" onClick=${play}>${playing ? 'Pause' : 'Play'}</button>
      <span class="muted">${clockText(first)}</span>
      <input type="range" min="0" max=${STEPS} value=${step} aria-label="Time" aria-valuetext=${clockText(at)} onInput=${seek} />
      <output>${clockText(at)}</output>
    </div>
    <div class="split wide map-split">
      <div><${NetworkMap} kind="big" steady=${still} added=${added} removed=${removed} focus=${focus} isShown=${isShown} onPlace=${click}
        label=${t.label(live, added.length, removed.length)} />
        <${Legend} keys=${t.legend} /><p class="muted small" id="map-help">Zoom in for more routes. Click a place for its routes. Arrows move the map, + and − zoom, Enter opens the place in the middle.</p></div>
      ${
        focus === undefined
          ? html`<${ChangesTable} network=${network} at=${at} onPlace=${show} />`
          : html`<${PlaceTable} id=${focus} routes=${all} onPlace=${show} onClose=${() => setFocus(NO_FOCUS)} />`
      }
    </div>`
}

/** @param {boolean} playing @param {(playing: boolean) => void} setPlaying @param {(next: (step: number) => number) => void} setStep */
function usePlaying(playing, setPlaying, setStep) {
  useEffect(() => {
    if (!playing) return undefined
    const timer = setInterval(
      () =>
        setStep((step) => {
          if (step + 1 >= STEPS) setPlaying(false)
          return Math.min(STEPS, step + 1)
        }),
      FRAME_MS,
    )
    return () => clearInterval(timer)
  }, [playing])
}

const ROWS = 200
const SUGGESTIONS = 20

/** Chooses a place by its code or city. @param {{ onPlace: (id: string) => void }} props */
function PlacePicker({ onPlace }) {
  const places = useResource(readPlaces, [])
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const all = [...(places.data?.values() ?? [])]
  const at = (/** @type {import('../map/network.js').Place} */ place) =>
    nameOf(place).toLowerCase().indexOf(wanted)
  // A name begins with the code: that which is equal comes first.
  const found = wanted === '' ? [] : all.filter((place) => at(place) >= 0)
  found.sort((a, b) => at(a) - at(b))
  const choose = (/** @type {import('../map/network.js').Place | undefined} */ place) => {
    if (place === undefined) return
    setText('')
    onPlace(place.id)
  }
  const type = typed((value) => {
    setText(value)
    choose(all.find((place) => nameOf(place) === value))
  })
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    choose(found[0])
  }
  return html`<form class="toolbar" onSubmit=${submit}>
    <${Field} label=${t.place} list="places" value=${text} placeholder="code or city" autocomplete="off" onInput=${type} />
    <datalist id="places">${found.slice(0, SUGGESTIONS).map((place) => html`<option value=${nameOf(place)}></option>`)}</datalist>
  </form>`
}

/**
 * What changed.
 * @param {{ network: import('../map/network.js').Network, at: number, onPlace: (id: string) => void }} props
 */
function ChangesTable({ network, at, onPlace }) {
  const places = useResource(readPlaces, [])
  const shown = network.changes
    .filter((change) => change.at <= at)
    .slice(-ROWS)
    .reverse()
  const codeOf = (/** @type {string} */ id) => places.data?.get(id)?.iata || id
  return html`<div class="scroll" tabindex="0">
    <h2>Changes</h2>
    ${
      shown.length === 0
        ? html`<p class="muted">No route was added or removed.</p>`
        : html`<${Table} heads=${['When', 'Route', 'Change']}>${shown.map(
            ({ pair: [departure, destination], added, at: changedAt }) => html`<tr>
        <td>${clockText(changedAt)}</td>
        <td><button type="button" class="plain" onClick=${() => onPlace(departure)}>${codeOf(departure)}\u00A0→\u00A0${codeOf(destination)}</button></td>
        <td>${added ? '+\u00A0added' : '−\u00A0removed'}</td></tr>`,
          )}<//>`
    }
  </div>`
}

/**
 * The places that a place has routes to or from.
 * @param {{ id: string, routes: import('../map/network.js').Pair[], onPlace: (id: string) => void, onClose: () => void }} props
 */
function PlaceTable({ id, routes, onPlace, onClose }) {
  const places = useResource(readPlaces, [])
  const heading = useRef(/** @type {HTMLElement | null} */ (null))
  // The table replaces the one whose button was pressed: the focus must not be lost with that button.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus()
  }, [id])
  const place = places.data?.get(id)
  const rows = partnersOf(id, routes).map((row) => ({ ...row, partner: places.data?.get(row.id) }))
  rows.sort((a, b) => (a.partner?.city ?? a.id).localeCompare(b.partner?.city ?? b.id))
  return html`<div class="scroll" tabindex="0">
    <div class="row"><h2 ref=${heading} tabindex="-1">${place ? nameOf(place) : id}</h2><button type="button" class="plain" onClick=${onClose}>${texts.close}</button></div>
    <p class="muted">${place?.country ? `${place.country}, ` : ''}${t.connected(rows.length)}</p>
    <${Table} heads=${[t.place, 'Country', 'Direction']}>${rows.map(
      (row) => html`<tr>
      <td><button type="button" class="plain" onClick=${() => onPlace(row.id)}>${row.partner ? nameOf(row.partner) : row.id}</button></td>
      <td>${row.partner?.country}</td><td>${t.directions[row.direction]}</td></tr>`,
    )}<//>
  </div>`
}

/** @param {string} id @param {import('../map/network.js').Pair[]} routes */
function partnersOf(id, routes) {
  /** @type {Map<string, 'both' | 'out' | 'in'>} */
  const partners = new Map()
  const add = (/** @type {string} */ partner, /** @type {'out' | 'in'} */ direction) => {
    const known = partners.get(partner)
    partners.set(partner, known === undefined || known === direction ? direction : 'both')
  }
  for (const [departure, destination] of routes) {
    if (departure === id) add(destination, 'out')
    if (destination === id) add(departure, 'in')
  }
  return [...partners].map(([partner, direction]) => ({ id: partner, direction }))
}
