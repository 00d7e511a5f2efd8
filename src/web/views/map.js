import { useEffect, useMemo, useState } from 'preact/hooks'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { networkAt, readNetwork, readPlaces } from '../map/network.js'
import { NetworkMap } from '../map/network-map.js'
import { Empty, Figure, Loaded } from '../parts.js'
import { texts } from '../texts.js'
import { clockText, dayText } from '../times.js'

const SPANS = [
  { days: 1, text: 'last day' },
  { days: 7, text: 'last week' },
  { days: 30, text: 'last month' },
  { days: 365, text: 'last year' },
]
const STEPS = 200
const FRAME_MS = 60
const ROWS = 200

/** The network on a map: what lives, what was added and removed, with a slider over its history. */
export function MapView() {
  const [days, setDays] = useState(1)
  const network = useResource(() => readNetwork(days), [days])
  return html`<div class="map-view">
    <div class="toolbar">
      <label>Show the <select value=${days} onChange=${(/** @type {any} */ e) => setDays(Number(e.currentTarget.value))}>
        ${SPANS.map((span) => html`<option value=${span.days}>${span.text}</option>`)}</select></label>
    </div>
    <${Loaded} of=${network}>${(/** @type {import('../map/network.js').Network} */ data) => html`<${Player} key=${days} network=${data} />`}<//>
  </div>`
}

/** @param {{ network: import('../map/network.js').Network }} props */
function Player({ network }) {
  const [step, setStep] = useState(STEPS)
  const [playing, setPlaying] = useState(false)
  const [focus, setFocus] = useState(/** @type {string | undefined} */ (undefined))
  const first = Math.min(network.changes[0]?.at ?? network.from, network.to)
  const at = first + ((network.to - first) * step) / STEPS
  const { steady, returned, added, removed } = useMemo(() => networkAt(network, at), [network, at])
  const still = useMemo(() => [...steady, ...returned], [steady, returned.length])
  usePlaying(playing, setPlaying, setStep)
  if (network.live.length + network.changes.length === 0) {
    return html`<${Empty} title="There are no routes yet.">The first list arrives within seconds of the start.<//>`
  }
  const live = steady.length + returned.length + added.length
  return html`
    <div class="player">
      <button type="button" onClick=${() => {
        if (step === STEPS) setStep(0)
        setPlaying(!playing)
      }}>${playing ? 'Pause' : 'Play'}</button>
      <input type="range" min="0" max=${STEPS} value=${step} aria-label="Time" aria-valuetext=${clockText(at)}
        onInput=${(/** @type {any} */ e) => {
          setPlaying(false)
          setStep(Number(e.currentTarget.value))
        }} />
      <output>${dayText(at)}, ${clockText(at)}</output>
    </div>
    <div class="figures">
      <${Figure} label="live routes">${live.toLocaleString()}<//>
      <${Figure} label="added since the start">${added.length.toLocaleString()}<//>
      <${Figure} label="removed since the start">${removed.length.toLocaleString()}<//>
    </div>
    <div class="split wide map-split">
      <div><${NetworkMap} kind="big" steady=${still} added=${added} removed=${removed} focus=${focus} onPlace=${setFocus}
        label=${`World map with ${live} live routes, ${added.length} added and ${removed.length} removed`} />
        <p class="legend"><span class="key live"></span> live <span class="key added"></span> added <span class="key removed"></span> removed
          <span class="muted">Click a place for its routes. Wheel or + and − zoom, arrows move.</span></p></div>
      ${
        focus === undefined
          ? html`<${ChangesTable} network=${network} at=${at} onPlace=${setFocus} />`
          : html`<${PlaceTable} id=${focus} routes=${[...still, ...added]} onClose=${() => setFocus(undefined)} />`
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

/** @param {{ network: import('../map/network.js').Network, at: number, onPlace: (id: string) => void }} props */
function ChangesTable({ network, at, onPlace }) {
  const places = useResource(readPlaces, [])
  const shown = network.changes
    .filter((change) => change.at <= at)
    .slice(-ROWS)
    .reverse()
  const nameOf = (/** @type {string} */ id) => places.data?.get(id)?.iata || id
  if (shown.length === 0)
    return html`<${Empty} title="Nothing changed until then.">${texts.views.map} shows the routes as they were.<//>`
  return html`<div class="scroll"><table>
    <thead><tr><th>When</th><th>Route</th><th>What</th></tr></thead>
    <tbody>${shown.map(
      ({ pair: [departure, destination], added, at: changedAt }) => html`<tr>
      <td>${clockText(changedAt)}</td>
      <td><button type="button" class="plain" onClick=${() => onPlace(departure)}>${nameOf(departure)} → ${nameOf(destination)}</button></td>
      <td>${added ? '+ added' : '− removed'}</td></tr>`,
    )}</tbody>
  </table></div>`
}

/** @param {{ id: string, routes: import('../map/network.js').Pair[], onClose: () => void }} props */
function PlaceTable({ id, routes, onClose }) {
  const places = useResource(readPlaces, [])
  const place = places.data?.get(id)
  const partners = new Map()
  for (const [departure, destination] of routes) {
    if (departure === id) partners.set(destination, `${partners.get(destination) ?? ''}out `)
    if (destination === id) partners.set(departure, `${partners.get(departure) ?? ''}in `)
  }
  const rows = [...partners].map(([partner, ways]) => ({
    partner: places.data?.get(partner),
    id: partner,
    ways,
  }))
  rows.sort((a, b) => (a.partner?.city ?? a.id).localeCompare(b.partner?.city ?? b.id))
  return html`<div class="scroll">
    <div class="row"><h2>${place ? `${place.iata} ${place.city}` : id}</h2><button type="button" class="plain" onClick=${onClose}>${texts.close}</button></div>
    <p class="muted">${place?.country}, ${texts.count(rows.length, 'place')} connected</p>
    <table><thead><tr><th>Place</th><th>Country</th><th>Ways</th></tr></thead>
    <tbody>${rows.map(
      (
        row,
      ) => html`<tr><td>${row.partner ? `${row.partner.iata} ${row.partner.city}` : row.id}</td><td>${row.partner?.country}</td>
      <td>${row.ways.includes('out') && row.ways.includes('in') ? 'both' : row.ways.includes('out') ? 'out' : 'in'}</td></tr>`,
    )}</tbody></table>
  </div>`
}
