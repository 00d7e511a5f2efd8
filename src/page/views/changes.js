import { useState } from 'preact/hooks'
import { changeMark, changeText } from '../describe.js'
import { typed } from '../hooks.js'
import { html } from '../html.js'
import { Badge, Empty, Loaded, Segments, Select } from '../parts.js'
import { keyOf, useChanges } from '../recent-changes.js'
import { texts } from '../texts.js'
import { dayText, TimeOfDay } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { ChangeDetails } from './change-details.js'

const SHOWN = 300
const EARLIER = 100

/** The live feed, newest first, with filters. @param {{ caller: import('../session.js').Caller }} props */
export function ChangesView({ caller }) {
  const changes = useChanges(caller, { shown: SHOWN, earlier: EARLIER })
  const [filter, setFilter] = useState(NO_FILTER)
  const { empty, emptyHelp, noMatch, noMatchHelp } = texts.changes
  return html`
    <${Filters} filter=${filter} onChange=${setFilter} />
    <${Loaded} of=${changes}>${(/** @type {any[]} */ items) => {
      const found = passing(items, filter)
      if (items.length === 0) return html`<${Empty} title=${empty}>${emptyHelp}<//>`
      return found.length === 0
        ? html`<${Empty} title=${noMatch}>${noMatchHelp}<//>`
        : html`<${ChangeList} changes=${found} canWatch=${caller.scopes.includes('watch')} />`
    }}<//>`
}

/** @typedef {typeof NO_FILTER} Filter */
const NO_FILTER = { about: '', kind: '', text: '' }

/** @param {{ kind: string }} record */
function isOfRoute({ kind }) {
  return vocabulary.kinds[kind]?.feeds.includes('route')
}

/** The records of fares and those of routes. @param {any[]} changes */
export function divided(changes) {
  return { fares: changes.filter((one) => !isOfRoute(one)), routes: changes.filter(isOfRoute) }
}

/** @param {any[]} changes @param {Filter} filter */
function passing(changes, { about, kind, text }) {
  const wanted = text.trim().toLowerCase()
  return changes.filter(
    (change) =>
      (about === '' || isOfRoute(change) === (about === 'routes')) &&
      (kind === '' || change.kind === kind) &&
      (wanted === '' ||
        `${change.subject.title} ${change.subject.detail} ${change.list ?? ''} ${change.reference ?? ''}`
          .toLowerCase()
          .includes(wanted)),
  )
}

/** @param {{ filter: Filter, onChange: (filter: Filter) => void }} props */
function Filters({ filter, onChange }) {
  const kinds = Object.entries(vocabulary.kinds).filter(
    ([kind]) => filter.about === '' || isOfRoute({ kind }) === (filter.about === 'routes'),
  )
  return html`<div class="toolbar">
    <${Segments} label=${texts.changes.about} names=${texts.changes.segments} chosen=${filter.about}
      onChoose=${(/** @type {string} */ about) => onChange({ ...filter, about, kind: '' })} />
    <${Select} label=${texts.changes.kind} value=${filter.kind} onChoose=${(/** @type {string} */ kind) => onChange({ ...filter, kind })}
      options=${[['', texts.changes.allKinds], ...kinds.map(([kind, { label }]) => [kind, label])]} />
    <label>${texts.search}
      <input type="search" value=${filter.text} placeholder=${texts.changes.searchHint}
        onInput=${typed((text) => onChange({ ...filter, text }))} />
    </label>
  </div>`
}

/**
 * Records, newest first, below the days on which they were recorded. Each opens to its evidence and deliveries.
 * @param {{ changes: any[], canWatch: boolean, isNamed?: boolean }} props `isNamed`: whether each says what it is about
 */
export function ChangeList({ changes, canWatch, isNamed = true }) {
  const [open, setOpen] = useState('')
  const days = changes.map(({ recordedAt }) => dayText(new Date(recordedAt)))
  return html`<ol class="feed ${isNamed ? '' : 'of-one'}">
    ${changes.map((change, i) => {
      const key = keyOf(change)
      const isOpen = open === key
      const { title, detail } = change.subject ?? {}
      return html`${days[i] !== days[i - 1] && html`<li class="day" key=${days[i]}><h3>${days[i]}</h3></li>`}
      <li key=${key} class=${isOpen ? 'open' : ''}>
        <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(isOpen ? '' : key)}>
          <span class="when"><${TimeOfDay} at=${change.recordedAt} /></span>
          ${isNamed && html`<span class="subject"><strong>${title}</strong> <span class="muted">${detail}</span>${change.reference && html` <span class="tag">${change.list} / ${change.reference}</span>`}</span>`}
          <${Badge} ...${changeMark(change)}>${changeText(change)}<//>
        </button>
        ${isOpen && html`<${ChangeDetails} change=${change} canWatch=${canWatch} />`}
      </li>`
    })}
  </ol>`
}
