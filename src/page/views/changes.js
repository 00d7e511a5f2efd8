import { useState } from 'preact/hooks'
import { changeLevel, changeText } from '../describe.js'
import { html } from '../html.js'
import { Badge, Empty, Loaded } from '../parts.js'
import { keyOf, useChanges } from '../recent-changes.js'
import { texts } from '../texts.js'
import { Clock } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { ChangeDetails } from './change-details.js'

const SHOWN = 300
const EARLIER = 100

/** The live feed, newest first, with filters. @param {{ caller: any }} props */
export function ChangesView({ caller }) {
  const changes = useChanges(caller, { shown: SHOWN, earlier: EARLIER })
  const [filter, setFilter] = useState({ kind: '', text: '' })
  return html`
    <${Filters} filter=${filter} onChange=${setFilter} />
    <${Loaded} of=${changes}>${(/** @type {any[]} */ items) => html`
      <${ChangeTable} changes=${passing(items, filter)}
        isFiltered=${filter.kind !== '' || filter.text.trim() !== ''} canWatch=${caller.scopes.includes('watch')} />
    `}<//>`
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

/** @param {{ filter: { kind: string, text: string }, onChange: (filter: { kind: string, text: string }) => void }} props */
function Filters({ filter, onChange }) {
  return html`<div class="toolbar">
    <label>${texts.changes.kind}
      <select value=${filter.kind} onChange=${(/** @type {any} */ e) => onChange({ ...filter, kind: e.currentTarget.value })}>
        <option value="">${texts.changes.allKinds}</option>
        ${Object.entries(vocabulary.kinds).map(([kind, { label }]) => html`<option value=${kind}>${label}</option>`)}
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
