import { useState } from 'preact/hooks'
import { changeLevel, changeText, feedOf, subjectOf } from '../describe.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { readPlaces } from '../map/network.js'
import { Badge, Empty, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Clock } from '../times.js'
import { ChangeDetails } from './change-details.js'

const SHOWN = 300
const EARLIER = 100

/** The live feed, newest first, with filters. @param {{ caller: any }} props */
export function ChangesView({ caller }) {
  const all = caller.isOperator
  const earlier = useResource(() => readEarlier(all), [all])
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
      <${ChangeTable} changes=${passing(withSubjects(merged(live, items), places.data), filter)}
        isFiltered=${filter.kind !== '' || filter.text.trim() !== ''} canWatch=${caller.scopes.includes('watch')} />
    `}<//>`
}

/** The last records: those of all routes and fares, or the reseller's own. @param {boolean} all */
async function readEarlier(all) {
  const paths = all ? ['/route-changes', '/availability-changes'] : ['/watch-changes']
  return (await Promise.all(paths.map(readLast))).flat()
}

/** @param {string} path */
async function readLast(path) {
  const { first, head } = await callApi(`${path}?limit=1`)
  const after = Math.max(first - 1, head - EARLIER)
  const { items } = await callApi(`${path}?after=${after}&limit=${EARLIER}`)
  return items
}

/** A record has one key, wherever it came from. @param {any} change */
function keyOf(change) {
  return `${feedOf(change)} ${change.seq}`
}

/** @param {any[]} live @param {any[]} earlier */
function merged(live, earlier) {
  const byKey = new Map([...earlier, ...live].map((change) => [keyOf(change), change]))
  return [...byKey.values()]
    .sort((a, b) => Date.parse(b.recordedAt) - Date.parse(a.recordedAt) || b.seq - a.seq)
    .slice(0, SHOWN)
}

/** @param {any[]} changes @param {{ kind: string, text: string }} filter */
function passing(changes, { kind, text }) {
  const wanted = text.trim().toLowerCase()
  return changes.filter(
    (change) =>
      (kind === '' || change.kind === kind) &&
      (wanted === '' ||
        `${change.subject.title} ${change.subject.detail} ${change.list ?? ''} ${change.reference ?? ''}`
          .toLowerCase()
          .includes(wanted)),
  )
}

/**
 * Adds to each record what it is about, with the names of its places.
 * @param {any[]} changes
 * @param {Map<string, any> | undefined} places
 */
function withSubjects(changes, places) {
  const codeOf = (/** @type {string} */ id) => places?.get(id)?.iata || id
  const cityOf = (/** @type {string} */ id) => places?.get(id)?.city ?? ''
  const subjectOfChange = (/** @type {any} */ change) => {
    const { departureId: from, destinationId: to, placeId } = change
    if (from) {
      const detail = `${cityOf(from)} – ${cityOf(to)}`
      return { title: `${codeOf(from)} → ${codeOf(to)}`, detail }
    }
    return placeId ? { title: codeOf(placeId), detail: cityOf(placeId) } : subjectOf(change)
  }
  return changes.map((change) => ({ ...change, subject: subjectOfChange(change) }))
}

/** @param {{ filter: { kind: string, text: string }, onChange: (filter: { kind: string, text: string }) => void }} props */
function Filters({ filter, onChange }) {
  return html`<div class="toolbar">
    <label>${texts.changes.kind}
      <select value=${filter.kind} onChange=${(/** @type {any} */ e) => onChange({ ...filter, kind: e.currentTarget.value })}>
        <option value="">${texts.changes.allKinds}</option>
        ${Object.entries(texts.kinds).map(([kind, text]) => html`<option value=${kind}>${text}</option>`)}
      </select>
    </label>
    <label>${texts.search}
      <input type="search" value=${filter.text} placeholder=${texts.changes.searchHint}
        onInput=${(/** @type {any} */ e) => onChange({ ...filter, text: e.currentTarget.value })} />
    </label>
  </div>`
}

/** @param {{ changes: any[], isFiltered: boolean, canWatch: boolean }} props */
function ChangeTable({ changes, isFiltered, canWatch }) {
  const [open, setOpen] = useState('')
  if (changes.length === 0) {
    return isFiltered
      ? html`<${Empty} title=${texts.changes.noMatch}>${texts.changes.noMatchHelp}<//>`
      : html`<${Empty} title=${texts.changes.empty}>${texts.changes.emptyHelp}<//>`
  }
  return html`<ol class="feed">
    ${changes.map((change) => {
      const key = keyOf(change)
      const isOpen = open === key
      return html`<li key=${key} class=${isOpen ? 'open' : ''}>
        <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(isOpen ? '' : key)}>
          <span class="when"><${Clock} at=${change.recordedAt} /></span>
          <span class="subject"><strong>${change.subject.title}</strong> <span class="muted">${change.subject.detail}</span>${change.reference && html` <span class="tag">${change.list} / ${change.reference}</span>`}</span>
          <${Badge} level=${changeLevel(change)}>${changeText(change)}<//>
        </button>
        ${isOpen && html`<${ChangeDetails} change=${change} canWatch=${canWatch} />`}
      </li>`
    })}
  </ol>`
}
