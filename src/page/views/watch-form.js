/**
 * @import { SavedWatches, Watch, WatchStates } from '../api-types.ts'
 */
import { useState } from 'preact/hooks'
import { subjectOf } from '../describe.js'
import { typed, useAnswer, useResource } from '../hooks.js'
import { Badge, FaultList, Field, Form, html, Select } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { textOf, texts } from '../texts.js'
import { fieldOf, termOf, vocabulary } from '../vocabulary.js'

const t = texts.form

/**
 * @typedef {import('../vocabulary.js').Field} Described
 * @typedef {(values: Record<string, string>) => (event: { currentTarget: HTMLButtonElement }) => void} Pick fills fields in
 * @typedef {`/watch-lists/${string}/watches/${string}`} WatchPath
 */

/** The inputs of the values of JSON schemas. @type {Record<string, string>} */
const TYPES = { string: 'text', integer: 'number', date: 'date' }
/** An empty value is no. @type {[string, string][]} */
const YES_OR_NO = Object.entries(t.choices)

/**
 * Adds a watch, or edits one. Doubts about a new one are shown before it is saved.
 * @param {{ list: string, watch?: Watch, path?: WatchPath, onEnd: (saved?: string) => unknown }} props `onEnd`: with the reference of what was saved
 */
export function WatchForm({ list, watch, path, onEnd }) {
  const [before] = useState(valuesOf(watch))
  const [doubts, setDoubts] = useState(/** @type {SavedWatches['warnings']} */ ([]))
  const clear = () => setDoubts([])
  const save = async (/** @type {Record<string, string>} */ values) => {
    if (path !== undefined) await change(path, [before, values])
    else if (doubts.length === 0) {
      const { warnings } = await add(list, values, true)
      setDoubts(warnings)
      if (warnings.length > 0) return
    }
    if (watch === undefined) await add(list, values, false)
    onEnd(watch?.reference ?? values.reference)
  }
  /** @type {Pick} */
  const pick = (values) => (event) => {
    clear()
    for (const [name, value] of Object.entries(values)) {
      const field = event.currentTarget.form?.elements.namedItem(name)
      Object.assign(field ?? {}, { value })
    }
  }
  const field = (/** @type {string} */ name, given = {}) =>
    html`<${Field} label=${textOf(t, name)} name=${name} defaultValue=${before[name]} ...${given} />`
  const input = (/** @type {Described} */ { column, label, schema }, given = {}) => {
    const choices = schema.type === 'boolean' ? YES_OR_NO : schema.enum?.map((one) => [one, one])
    return choices
      ? html`<${Select} label=${label} name=${column} value=${before[column]} options=${choices} />`
      : html`<${Field} label=${label} name=${column} type=${TYPES[schema.format ?? schema.type]} min=${schema.minimum} max=${schema.maximum} defaultValue=${before[column]} ...${given} />`
  }
  const verb = watch !== undefined ? texts.save : doubts.length > 0 ? 'Add it all the same' : t.add
  return html`<${Form} kind="watch-form" label=${verb} send=${save} onType=${clear} more=${html`<button type="button" onClick=${() => onEnd()}>Cancel</button>`}>
    ${watch === undefined && html`<${FlightToTry} pick=${pick} /><${FlightPicker} pick=${pick} />${field('reference', { required: true, placeholder: 'your name for the watch' })}`}
    ${field('flightId')} ${field('returnFlightId', { placeholder: t.optional })}
    <p class="help">A flight id is the number under which the upstream’s search shows a flight.</p>
    <fieldset><legend>For whom</legend>${vocabulary.terms.map((term) => input(term))}</fieldset>
    <details open=${watch !== undefined}><summary>More: prices to be notified of, how often to check, a route instead of a flight</summary><div class="watch-form">
      ${vocabulary.settings.map((setting) => input(setting, { placeholder: setting.hint || t.optional }))}
    </div></details>
    ${watch !== undefined && html`<p class="help">Another flight or other passengers: the watch begins again.</p>`}
    ${doubts.length > 0 && html`<div role="alert"><${Badge} level="warn">Is the flight right? It can be added all the same.<//><${FaultList} faults=${doubts} /></div>`}
  <//>`
}

/** A flight of the sandbox, where that is the upstream. @param {{ pick: Pick }} props */
function FlightToTry({ pick }) {
  const status = useAnswer('/status')
  const flightId = status.data?.demo?.flightId
  if (!flightId) return null
  const reference = t.tryReference(flightId)
  return html`<p class="row">${t.tryFlight(flightId)} <button type="button" onClick=${pick({ flightId, reference })}>Try this one</button></p>`
}

const PICKED = 6

/** Finds a flight that your watches have shown, by its places, airline or day. @param {{ pick: Pick }} props */
function FlightPicker({ pick }) {
  const known = useResource((signal) => callApi('/watch-state', { signal }).then(flightsOf), [])
  const [text, setText] = useState('')
  const words = text.toLowerCase().split(/\s+/)
  const found = (known.data ?? []).filter(({ search }) =>
    words.every((word) => search.includes(word)),
  )
  if (known.data?.length === 0) return null
  return html`<fieldset class="picker"><legend>A flight that you know already</legend>
    <${Field} label="Find" type="search" value=${text} placeholder="PMI, Barcelona, 2027-01-08" onInput=${typed(setText)} />
    <ul class="plain-list">${found
      .slice(0, PICKED)
      .map(
        ({ flightId, title, detail, reference }) =>
          html`<li><button type="button" onClick=${pick({ flightId, reference })}><strong>${title}</strong> <span class="muted">${detail}</span></button></li>`,
      )}</ul>
    ${known.data && html`<p class="muted small" role="status">${t.found(found.length)}</p>`}
  </fieldset>`
}

/** The flights that watches have shown, once each, with a reference for another watch of them. @param {WatchStates} state */
function flightsOf({ watches }) {
  /** @type {Map<string, { flightId: string, title: string, detail: string, search: string, reference: string }>} */
  const byId = new Map()
  for (const { flightId, belief, lastFlight } of watches) {
    const flight = belief.outbound?.flight ?? lastFlight?.outbound
    if (!flight || !flightId) continue
    const { title, detail } = subjectOf({ flights: { outbound: flight } })
    const { departure, arrival } = flight
    const day = departure.localTime.slice(0, 10)
    const cities = `${departure.place.city} ${arrival.place.city}`
    const search = `${title} ${cities} ${detail} ${day} ${flightId}`.toLowerCase()
    const reference = `${title.replace(' → ', '-')} ${day} ${flight.numbers.join('/')}`
    byId.set(flightId, { flightId, title, detail, search, reference })
  }
  return [...byId.values()]
}

/** @param {Watch | undefined} watch @returns {Record<string, string>} */
function valuesOf(watch) {
  const names = /** @type {const} */ (['reference', 'flightId', 'returnFlightId'])
  const terms = vocabulary.terms.map((term) => [term.column, termOf(watch, term)])
  const settings = vocabulary.settings.map((setting) => {
    return [setting.column, fieldOf(watch, setting) ?? setting.default ?? '']
  })
  const all = [...names.map((name) => [name, watch?.[name] ?? '']), ...terms, ...settings]
  return Object.fromEntries(all.map(([name, value]) => [name, String(value)]))
}

/** The watch as the API takes it. An empty value clears its setting. @param {Record<string, string>} values */
function settingsOf(values) {
  const { flightId, returnFlightId } = values
  /** @type {Record<string, unknown>} */
  const watch = { flightId: flightId || null, returnFlightId: returnFlightId || null }
  // A watch of a route has no passengers.
  const fields = flightId ? [...vocabulary.terms, ...vocabulary.settings] : vocabulary.settings
  for (const { column, pointer, schema } of fields) {
    const [, ...path] = pointer.split('/')
    const last = path.pop() ?? ''
    const text = values[column] ?? ''
    if (text === '') {
      watch[path[0] ?? last] ??= null
      continue
    }
    const parent = path.reduce((at, name) => {
      at[name] ??= {}
      return Object(at[name])
    }, watch)
    parent[last] =
      schema.type === 'integer' ? Number(text) : schema.type === 'boolean' ? text === 'true' : text
  }
  return watch
}

/** Refuses a reference that exists: its watch would be replaced. @param {string} list @param {Record<string, string>} values @param {boolean} dryRun */
async function add(list, values, dryRun) {
  const { reference } = values
  const body = { watches: [{ reference, ...settingsOf(values) }] }
  const answer = await callApi(
    `/watch-lists/${encodeURIComponent(list)}/watches?createList=true&dryRun=${dryRun}`,
    { method: 'POST', body },
  )
  if (dryRun && answer.added === 0)
    throw new ProblemError(409, { detail: 'The list has this reference already.' })
  return answer
}

/** Only what differs is sent: others may have changed the rest since. @param {WatchPath} path @param {Record<string, string>[]} states */
async function change(path, [before = {}, after = {}]) {
  const known = settingsOf(before)
  const changed = Object.entries(settingsOf(after)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name]),
  )
  const body = Object.fromEntries(changed)
  if (changed.length > 0) await callApi(path, { method: 'PATCH', body })
}
