import { useState } from 'preact/hooks'
import {
  changeLevel,
  changeText,
  flightText,
  pairText,
  priceText,
  subjectText,
} from '../describe.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { readPlaces } from '../map/network.js'
import { Badge, Empty, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Clock } from '../times.js'

const SHOWN = 300
const EARLIER = 100

/** The live feed, newest first, with filters. @param {{ caller: any }} props */
export function ChangesView({ caller }) {
  const isOperator = caller.kind === 'operator'
  const earlier = useResource(() => readEarlier(isOperator), [isOperator])
  const [live, setLive] = useState(/** @type {any[]} */ ([]))
  const places = useResource(readPlaces, [])
  const [filter, setFilter] = useState({ kind: '', text: '' })
  useEvents(({ data }) => {
    if (typeof data?.kind !== 'string' || data.recordedAt === undefined) return
    setLive((last) => [data, ...last].slice(0, SHOWN))
  }, [])
  return html`
    <${Filters} filter=${filter} onChange=${setFilter} />
    <${Loaded} of=${earlier}>${(/** @type {any[]} */ items) => html`
      <${ChangeTable} changes=${passing(withLines(merged(live, items), places.data), filter)} />
    `}<//>`
}

/** @param {boolean} isOperator */
async function readEarlier(isOperator) {
  const path = isOperator ? '/route-changes' : '/watch-changes'
  const { head } = await callApi(`${path}?limit=1`)
  const { items } = await callApi(`${path}?after=${Math.max(0, head - EARLIER)}&limit=${EARLIER}`)
  return items.reverse()
}

/** A record has one key, wherever it came from. @param {any} change */
function keyOf(change) {
  const kind =
    change.kind.startsWith('route_') || change.kind === 'place_changed' ? 'route' : 'fare'
  // The feed of a reseller and the feed of all fares number a change differently.
  return (
    change.id ?? `${kind} ${change.watchId ?? ''} ${change.kind} ${change.detectedAt} ${change.seq}`
  )
}

/** @param {any[]} live @param {any[]} earlier */
function merged(live, earlier) {
  const byKey = new Map([...earlier, ...live].map((change) => [keyOf(change), change]))
  return [...byKey.values()]
    .sort((a, b) => Date.parse(b.recordedAt) - Date.parse(a.recordedAt))
    .slice(0, SHOWN)
}

/** @param {any[]} changes @param {{ kind: string, text: string }} filter */
function passing(changes, { kind, text }) {
  const wanted = text.trim().toLowerCase()
  return changes.filter(
    (change) =>
      (kind === '' || change.kind === kind) &&
      (wanted === '' ||
        `${change.line} ${change.list} ${change.reference}`.toLowerCase().includes(wanted)),
  )
}

/**
 * Adds to each record what it is about, with the names of places.
 * @param {any[]} changes
 * @param {Map<string, any> | undefined} places
 */
function withLines(changes, places) {
  const nameOf = (/** @type {string} */ id) => {
    const place = places?.get(id)
    return place === undefined ? id : `${place.iata || id} ${place.city}`
  }
  return changes.map((change) => {
    const { departureId, destinationId, placeId } = change
    if (departureId) return { ...change, line: `${nameOf(departureId)} → ${nameOf(destinationId)}` }
    return { ...change, line: placeId ? nameOf(placeId) : subjectText(change) }
  })
}

/** @param {{ filter: { kind: string, text: string }, onChange: (filter: { kind: string, text: string }) => void }} props */
function Filters({ filter, onChange }) {
  return html`<div class="toolbar">
    <label>Kind
      <select value=${filter.kind} onChange=${(/** @type {any} */ e) => onChange({ ...filter, kind: e.currentTarget.value })}>
        <option value="">all</option>
        ${Object.entries(texts.kinds).map(([kind, text]) => html`<option value=${kind}>${text}</option>`)}
      </select>
    </label>
    <label>Search
      <input type="search" value=${filter.text} placeholder="place, flight, reference"
        onInput=${(/** @type {any} */ e) => onChange({ ...filter, text: e.currentTarget.value })} />
    </label>
  </div>`
}

/** @param {{ changes: any[] }} props */
function ChangeTable({ changes }) {
  const [open, setOpen] = useState('')
  if (changes.length === 0) {
    return html`<${Empty} title="No change to show.">New ones appear here by themselves.<//>`
  }
  return html`<ol class="feed">
    ${changes.map((change) => {
      const key = keyOf(change)
      const isOpen = open === key
      return html`<li key=${key} class=${isOpen ? 'open' : ''}>
        <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(isOpen ? '' : key)}>
          <span class="when"><${Clock} at=${change.recordedAt} /></span>
          <span class="subject">${change.line}${change.reference && html` <span class="muted">${change.list} / ${change.reference}</span>`}</span>
          <${Badge} level=${changeLevel(change)}>${changeText(change)}<//>
        </button>
        ${isOpen && html`<${ChangeDetails} change=${change} />`}
      </li>`
    })}
  </ol>`
}

/** @param {{ change: any }} props */
function ChangeDetails({ change }) {
  const { before, after, lastGoodCheckAt, lastSeenAt, detectedAt, firstMissedAt } = change
  const since = lastGoodCheckAt ?? lastSeenAt
  const until = detectedAt ?? firstMissedAt
  return html`<div class="details">
    <dl>
      <dt>It happened</dt>
      <dd>${since ? html`after <${Clock} at=${since} /> and ` : ''}by <${Clock} at=${until} /></dd>
      <dt>Recorded</dt><dd><${Clock} at=${change.recordedAt} />, number ${change.seq}${change.previous !== undefined && `, after ${change.previous}`}</dd>
      ${change.list && html`<dt>Watch</dt><dd>${change.list} / ${change.reference}</dd>`}
      ${change.runId && html`<dt>Run</dt><dd>${change.runId}</dd>`}
    </dl>
    <div class="sides">
      <${Side} title="Before" state=${before} />
      <${Side} title="After" state=${after} />
    </div>
  </div>`
}

/** @param {{ title: string, state: any }} props */
function Side({ title, state }) {
  const legs = state?.outbound ? [state.outbound, state.return].filter(Boolean) : []
  return html`<section>
    <h3>${title}</h3>
    ${!state && html`<p class="muted">nothing</p>`}
    ${state?.pair && html`<p>${pairText(state.pair)}${state.price ? `, ${priceText(state.price)}` : ''}</p>`}
    ${legs.map((leg) => html`<p>${flightText(leg.flight) ?? 'flight not shown'}: ${leg.belief}${leg.price ? `, ${priceText(leg.price)}` : ''}</p>`)}
    ${state && !state.pair && html`<dl>${Object.entries(state).map(([name, value]) => html`<dt>${name}</dt><dd>${String(value)}</dd>`)}</dl>`}
  </section>`
}
