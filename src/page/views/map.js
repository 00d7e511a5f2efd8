import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { onSubmit, typed, useResource } from '../hooks.js'
import { useBursts } from '../live.js'
import {
  nameOf,
  networkAt,
  readNetwork,
  readPlaces,
  steadyOf,
  withChanges,
} from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Empty, Figure, html, Legend, loaded, Select } from '../parts.js'
import { serverNow } from '../session.js'
import { texts } from '../texts.js'
import { clockText } from '../times.js'

const t = texts.map

const DAY_MS = 86_400_000
const STEPS = 200
const FRAME_MS = 60
/** Changes that arrive within this time are drawn together. */
const BURST_MS = 500

/** The network on a map: what lives, what was added and removed, with a slider over its history. */
export function MapView() {
  const [span, setSpan] = useState({ days: 1, from: '', to: '' })
  const { from, to } = boundsOf(span)
  const network = useResource(async () => {
    // Without the names of the places the tables would show ids for a moment, and the map nothing.
    const [read] = await Promise.all([readNetwork(from, to), readPlaces()])
    return read
  }, [span])
  const picker = html`<${SpanPicker} span=${span} onChange=${setSpan} />`
  return html`<div class="map-view">
    ${network.data === undefined && picker}
    ${loaded(network, (data) => html`<${Player} key=${`${span.days} ${span.from} ${span.to}`} read=${data} isPresent=${to === undefined} picker=${picker} />`)}
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
    <${Select} label=${t.show} value=${span.days} onChoose=${choose} options=${Object.entries(t.spans)} />
    ${
      span.days === 0 &&
      html`<label>${t.from} <input type="date" max=${today} value=${span.from} onChange=${set('from')} /></label>
        <label>${t.to} <input type="date" max=${today} value=${span.to} onChange=${set('to')} /></label>`
    }
  </div>`
}

/** The day in the reader's zone, as an input of dates takes it: so Swedish writes it. @param {Date} date */
function dateText(date) {
  return date.toLocaleDateString('sv')
}

const NO_FOCUS = { focus: /** @type {string | undefined} */ (undefined), isShown: false }

/** @param {{ read: import('../map/network.js').Network, isPresent: boolean, picker: unknown }} props */
function Player({ read, isPresent, picker }) {
  const network = useLiveNetwork(read, isPresent)
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
        <${Figure} label=${t.live}>${live.toLocaleString()}<//>
        <${Figure} label=${t.added}>${added.length.toLocaleString()}<//>
        <${Figure} label=${t.removed}>${removed.length.toLocaleString()}<//>
      </div>
      <${PlacePicker} onPlace=${show} />
    </div>
    <div class="player">
      <button type="button" onClick=${play}>${playing ? t.pause : t.play}</button>
      <span class="muted">${clockText(first)}</span>
      <input type="range" min="0" max=${STEPS} value=${step} aria-label=${t.time} aria-valuetext=${clockText(at)} onInput=${seek} />
      <output>${clockText(at)}</output>
    </div>
    <div class="split wide map-split">
      <div><${NetworkMap} kind="big" steady=${still} added=${added} removed=${removed} focus=${focus} isShown=${isShown} onPlace=${click}
        label=${t.label(live, added.length, removed.length)} />
        <${Legend} keys=${t.legend} /><p class="muted small" id="map-help">${t.help}</p></div>
      ${
        focus === undefined
          ? html`<${ChangesTable} network=${network} at=${at} onPlace=${show} />`
          : html`<${PlaceTable} id=${focus} routes=${all} onPlace=${show} onClose=${() => setFocus(NO_FOCUS)} />`
      }
    </div>`
}

/**
 * The network, with the changes that the stream sends while the view is open.
 * @param {import('../map/network.js').Network} read
 * @param {boolean} isPresent whether it ends now
 */
function useLiveNetwork(read, isPresent) {
  const [network, setNetwork] = useState(read)
  useBursts((events) => {
    // The valid time of a change is when the list was fetched that confirmed it: a moment before its record.
    const changes = events
      .filter(({ data }) => isPresent && ['route_added', 'route_removed'].includes(data?.kind))
      .map(({ data: { kind, departureId, destinationId, recordedAt } }) => ({
        pair: /** @type {import('../map/network.js').Pair} */ ([departureId, destinationId]),
        added: kind === 'route_added',
        at: Date.parse(recordedAt),
      }))
    setNetwork((last) => withChanges(last, changes))
  }, BURST_MS)
  return network
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
  const found =
    wanted === '' ? [] : all.filter((place) => nameOf(place).toLowerCase().includes(wanted))
  const type = typed((value) => {
    const chosen = all.find((place) => nameOf(place) === value)
    setText(chosen === undefined ? value : '')
    if (chosen !== undefined) onPlace(chosen.id)
  })
  const submit = onSubmit(() => {
    const [best] = found.sort((a, b) => rank(a, wanted) - rank(b, wanted))
    if (best === undefined) return
    setText('')
    onPlace(best.id)
  })
  return html`<form class="toolbar" onSubmit=${submit}>
    <label>${t.place} <input list="places" value=${text} placeholder=${t.placeHint} autocomplete="off" onInput=${type} /></label>
    <datalist id="places">${found.slice(0, SUGGESTIONS).map((place) => html`<option value=${nameOf(place)}></option>`)}</datalist>
  </form>`
}

/** A code that is equal comes first. @param {import('../map/network.js').Place} place @param {string} wanted */
function rank({ iata, city }, wanted) {
  if (iata.toLowerCase() === wanted) return 0
  return city.toLowerCase().startsWith(wanted) ? 1 : 2
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
    <h2>${t.changes}</h2>
    ${
      shown.length === 0
        ? html`<p class="muted">${t.unchanged}</p>`
        : html`<table>
      <thead><tr><th>${t.when}</th><th>${t.route}</th><th>${t.what}</th></tr></thead>
      <tbody>${shown.map(
        ({ pair: [departure, destination], added, at: changedAt }) => html`<tr>
        <td>${clockText(changedAt)}</td>
        <td><button type="button" class="plain" onClick=${() => onPlace(departure)}>${codeOf(departure)}\u00A0→\u00A0${codeOf(destination)}</button></td>
        <td>${added ? t.wasAdded : t.wasRemoved}</td></tr>`,
      )}</tbody></table>`
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
    <table><thead><tr><th>${t.place}</th><th>${t.country}</th><th>${t.direction}</th></tr></thead>
    <tbody>${rows.map(
      (row) => html`<tr>
      <td><button type="button" class="plain" onClick=${() => onPlace(row.id)}>${row.partner ? nameOf(row.partner) : row.id}</button></td>
      <td>${row.partner?.country}</td><td>${t.directions[row.direction]}</td></tr>`,
    )}</tbody></table>
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
