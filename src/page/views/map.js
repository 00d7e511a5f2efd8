import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { networkAt, readNetwork, readPlaces, steadyOf, withChanges } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Empty, Figure, Legend, Loaded, Select } from '../parts.js'
import { serverNow } from '../session.js'
import { texts } from '../texts.js'
import { clockText } from '../times.js'
import { ChangesTable, PlacePicker, PlaceTable } from './map-tables.js'

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
    <${Loaded} of=${network}>${(/** @type {import('../map/network.js').Network} */ data) => html`<${Player} key=${`${span.days} ${span.from} ${span.to}`} read=${data} isPresent=${to === undefined} picker=${picker} />`}<//>
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
  const set =
    (/** @type {'from' | 'to'} */ name) =>
    (/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
      const next = { ...span, [name]: event.currentTarget.value }
      if (next.from === '' || next.to === '') return
      onChange(next.from <= next.to ? next : { ...next, from: next.to, to: next.from })
    }
  return html`<div class="toolbar">
    <${Select} label=${texts.map.show} value=${span.days} onChoose=${choose} options=${Object.entries(texts.map.spans)} />
    ${
      span.days === 0 &&
      html`<label>${texts.map.from} <input type="date" max=${today} value=${span.from} onChange=${set('from')} /></label>
        <label>${texts.map.to} <input type="date" max=${today} value=${span.to} onChange=${set('to')} /></label>`
    }
  </div>`
}

/** The day in the reader's zone, as an input of dates takes it. @param {Date} date */
function dateText(date) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
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
    return html`${picker}<${Empty} title=${texts.map.empty}>${texts.map.emptyHelp}<//>`
  }
  const live = all.length
  const play = () => {
    if (step === STEPS) setStep(0)
    setPlaying(!playing)
  }
  const seek = (/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
    setPlaying(false)
    setStep(Number(event.currentTarget.value))
  }
  return html`
    <div class="row">
      ${picker}
      <div class="figures">
        <${Figure} label=${texts.map.live}>${live.toLocaleString()}<//>
        <${Figure} label=${texts.map.added}>${added.length.toLocaleString()}<//>
        <${Figure} label=${texts.map.removed}>${removed.length.toLocaleString()}<//>
      </div>
      <${PlacePicker} onPlace=${show} />
    </div>
    <div class="player">
      <button type="button" onClick=${play}>${playing ? texts.map.pause : texts.map.play}</button>
      <span class="muted">${clockText(first)}</span>
      <input type="range" min="0" max=${STEPS} value=${step} aria-label=${texts.map.time} aria-valuetext=${clockText(at)} onInput=${seek} />
      <output>${clockText(at)}</output>
    </div>
    <div class="split wide map-split">
      <div><${NetworkMap} kind="big" steady=${still} added=${added} removed=${removed} focus=${focus} isShown=${isShown} onPlace=${click}
        label=${texts.map.label(live, added.length, removed.length)} />
        <${Legend} keys=${texts.map.legend} /><p class="muted small" id="map-help">${texts.map.help}</p></div>
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
  const waiting = useRef(/** @type {import('../map/network.js').Change[]} */ ([]))
  useEvents(
    ({ data }) => {
      if (!isPresent || !['route_added', 'route_removed'].includes(data?.kind)) return
      const { kind, departureId, destinationId, recordedAt } = data
      // The valid time of a change is when the list was fetched that confirmed it: a moment before its record.
      const at = Date.parse(recordedAt)
      waiting.current.push({
        pair: [departureId, destinationId],
        added: kind === 'route_added',
        at,
      })
      if (waiting.current.length > 1) return
      setTimeout(() => {
        const changes = waiting.current
        waiting.current = []
        setNetwork((last) => withChanges(last, changes))
      }, BURST_MS)
    },
    [isPresent],
  )
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
