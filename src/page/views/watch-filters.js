import { useEffect, useState } from 'preact/hooks'
import { html } from '../html.js'
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
    html`<label>${label} <input type="date" value=${query.get(name) ?? ''} onChange=${(/** @type {any} */ e) => onQuery({ [name]: e.currentTarget.value })} /></label>`
  return html`<div class="toolbar">
    <label>${texts.search} <input type="search" value=${text} placeholder=${t.searchHint}
      onInput=${(/** @type {any} */ e) => onText(e.currentTarget.value)} /></label>
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
  const [typed, setTyped] = useState(place)
  useEffect(() => setTyped(place), [place])
  return html`<label>${texts.lists.place} <input value=${typed} placeholder=${texts.lists.placeHint} maxlength="100"
    onInput=${(/** @type {any} */ e) => setTyped(e.currentTarget.value)}
    onChange=${(/** @type {any} */ e) => onQuery({ place: e.currentTarget.value.trim() })} /></label>`
}

/** @param {{ query: URLSearchParams, onQuery: (given: Record<string, string>) => void }} props */
function StateFilter({ query, onQuery }) {
  const chosen = query.get('state') ?? query.get('status') ?? ''
  const choose = (/** @type {any} */ event) => {
    const { value } = event.currentTarget
    const isState = STATES.includes(value)
    onQuery({ state: isState ? value : '', status: isState ? '' : value })
  }
  const option = (/** @type {object} */ known) => (/** @type {string} */ name) =>
    html`<option value=${name}>${textOf(known, name)}</option>`
  return html`<label>${texts.lists.state} <select value=${chosen} onChange=${choose}>
    <option value="">${texts.lists.anyState}</option>
    ${STATES.map(option(vocabulary.states))}${STATUSES.map(option(vocabulary.statuses))}
  </select></label>`
}
