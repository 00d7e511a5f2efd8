import { useEffect, useState } from 'preact/hooks'
import { typed } from '../hooks.js'
import { html } from '../html.js'
import { Select } from '../parts.js'
import { textOf, texts } from '../texts.js'
import { vocabulary } from '../vocabulary.js'

/** The filters of the API that the address keeps, by their names there. */
const FILTERS = ['state', 'status', 'place', 'departsFrom', 'departsTo']
const STATES = ['bookable', 'not_bookable', 'unknown']
const STATUSES = ['new', 'stale', 'expired', 'paused']

/** The filters among what an address has. @param {URLSearchParams} query */
export function filtersOf(query) {
  return new URLSearchParams([...query].filter(([name]) => FILTERS.includes(name)))
}

/**
 * Chooses watches by text, state, place and day of departure.
 * @param {{ query: URLSearchParams, onQuery: (given: Record<string, string>) => void, text: string, onText: (text: string) => void }} props
 */
export function WatchFilters({ query, onQuery, text, onText }) {
  const t = texts.lists
  const set = filtersOf(query).size
  const clear = () => onQuery(Object.fromEntries(FILTERS.map((name) => [name, ''])))
  const day = (/** @type {string} */ name, /** @type {string} */ label) =>
    html`<label>${label} <input type="date" value=${query.get(name) ?? ''} onChange=${typed((value) => onQuery({ [name]: value }))} /></label>`
  return html`<div class="toolbar">
    <label>${texts.search} <input type="search" value=${text} placeholder=${t.searchHint}
      onInput=${typed(onText)} /></label>
    <details class="filters" open=${set > 0}><summary>${t.filters(set)}</summary>
      <div class="toolbar">
        <${StateFilter} query=${query} onQuery=${onQuery} />
        <${PlaceFilter} place=${query.get('place') ?? ''} onQuery=${onQuery} />
        ${day('departsFrom', t.departsFrom)} ${day('departsTo', t.departsTo)}
        ${set > 0 && html`<button type="button" class="plain" onClick=${clear}>${t.clear}</button>`}
      </div>
    </details>
  </div>`
}

/** What is typed stays while the view is drawn again. @param {{ place: string, onQuery: (given: Record<string, string>) => void }} props */
function PlaceFilter({ place, onQuery }) {
  const [text, setText] = useState(place)
  useEffect(() => setText(place), [place])
  return html`<label>${texts.lists.place} <input value=${text} placeholder=${texts.lists.placeHint} maxlength="100"
    onInput=${typed(setText)}
    onChange=${typed((value) => onQuery({ place: value.trim() }))} /></label>`
}

/** @param {{ query: URLSearchParams, onQuery: (given: Record<string, string>) => void }} props */
function StateFilter({ query, onQuery }) {
  const chosen = query.get('state') ?? query.get('status') ?? ''
  const choose = (/** @type {string} */ value) => {
    const isState = STATES.includes(value)
    onQuery({ state: isState ? value : '', status: isState ? '' : value })
  }
  const named = (/** @type {object} */ known) => (/** @type {string} */ name) => [
    name,
    textOf(known, name),
  ]
  const options = [
    ['', texts.lists.anyState],
    ...STATES.map(named(vocabulary.states)),
    ...STATUSES.map(named(vocabulary.statuses)),
  ]
  return html`<${Select} label=${texts.lists.state} value=${chosen} onChoose=${choose} options=${options} />`
}
