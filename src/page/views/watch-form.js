import { useState } from 'preact/hooks'
import { onSubmit, useAction } from '../hooks.js'
import { html } from '../html.js'
import { Action, Failure } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { textOf, texts } from '../texts.js'
import { fieldOf, termOf, vocabulary } from '../vocabulary.js'

/** @typedef {import('../vocabulary.js').Field} Field */

/** The inputs of the values of JSON schemas. @type {Record<string, string>} */
const TYPES = { string: 'text', integer: 'number', date: 'date' }
/** An empty value is no. */
const YES_OR_NO = ['', 'true']

/**
 * Adds a watch, or edits one.
 * @param {{ list: string, watch?: any, onEnd: (saved: boolean) => void }} props
 */
export function WatchForm({ list, watch, onEnd }) {
  const [values, setValues] = useState(valuesOf(watch))
  const { busy, error, run } = useAction()
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setValues((last) => ({ ...last, [name]: event.currentTarget.value }))
  const save = async () => {
    await (watch === undefined ? add(list, values) : change(list, watch.reference, values))
    onEnd(true)
  }
  const field = (/** @type {string} */ name, /** @type {any} */ options = {}) => {
    const { type = 'text', hint = '', required = false } = options
    const label = /** @type {Record<string, any>} */ (texts.form)[name]
    return html`<label>${label}<input type=${type} required=${required} placeholder=${hint || (required ? '' : texts.form.optional)}
      value=${values[name]} onInput=${set(name)} /></label>`
  }
  /** @param {Field} of @param {any} given @returns {any} */
  const input = ({ column, label, schema }, given = {}) => {
    const choices = schema.type === 'boolean' ? YES_OR_NO : schema.enum
    return choices
      ? html`<label>${label}<select value=${values[column]} onChange=${set(column)}>
          ${choices.map((value) => html`<option value=${value}>${textOf(texts.form.choices, value)}</option>`)}</select></label>`
      : html`<label>${label}<input type=${TYPES[schema.format ?? schema.type]} min=${schema.minimum} max=${schema.maximum}
          value=${values[column]} onInput=${set(column)} ...${given} /></label>`
  }
  return html`<form class="watch-form" onSubmit=${onSubmit(() => run(save))}>
    ${watch === undefined && field('reference', { required: true, hint: texts.form.referenceHint })}
    ${field('flightId', { required: !values.departure })}
    ${field('returnFlightId')}
    <p class="help">${texts.form.flightHelp}</p>
    <fieldset><legend>${texts.form.terms}</legend>${vocabulary.terms.map((term) => input(term))}</fieldset>
    ${vocabulary.settings.map((setting) => input(setting, { placeholder: setting.hint || texts.form.optional }))}
    ${watch !== undefined && html`<p class="help">${texts.form.restart}</p>`}
    ${error && html`<${Failure} error=${error} /><${Faults} error=${error} />`}
    <div class="buttons">
      <button type="submit" class="primary" disabled=${busy}>${busy ? texts.working : watch === undefined ? texts.form.add : texts.form.save}</button>
      <${Action} label=${texts.cancel} busy=${busy} onClick=${() => onEnd(false)} />
    </div>
  </form>`
}

/** What is wrong with each value. @param {{ error: Error }} props */
export function Faults({ error }) {
  return html`<${FaultList} faults=${error instanceof ProblemError ? (error.problem.errors ?? []) : []} />`
}

/** @param {{ faults: any[] }} props */
export function FaultList({ faults }) {
  if (faults.length === 0) return null
  return html`<ul class="plain-list faults">
    ${faults.map(({ pointer, detail, message }) => html`<li>${pointer && html`<code>${pointer}</code> `}${detail ?? message}</li>`)}
  </ul>`
}

/** @param {any} watch @returns {Record<string, string>} */
function valuesOf(watch) {
  const names = ['reference', 'flightId', 'returnFlightId']
  const terms = vocabulary.terms.map((term) => [term.column, termOf(watch, term)])
  const settings = vocabulary.settings.map((setting) => {
    return [setting.column, fieldOf(watch, setting) ?? setting.default ?? '']
  })
  const all = [...names.map((name) => [name, watch?.[name] ?? '']), ...terms, ...settings]
  return Object.fromEntries(all.map(([name, value]) => [name, String(value)]))
}

/** The watch as the API takes it. An empty value clears its setting. @param {Record<string, string>} values */
function settingsOf(values) {
  const [flightId, returnFlightId] = [values.flightId?.trim(), values.returnFlightId?.trim()]
  /** @type {any} */
  const watch = { flightId: flightId || null, returnFlightId: returnFlightId || null }
  // A watch of a route has no passengers.
  const fields = flightId ? [...vocabulary.terms, ...vocabulary.settings] : vocabulary.settings
  for (const { column, pointer, schema } of fields) {
    const [, ...path] = pointer.split('/')
    const last = path.pop() ?? ''
    const text = values[column]?.trim() ?? ''
    if (text === '') {
      watch[path[0] ?? last] ??= null
      continue
    }
    const parent = path.reduce((at, name) => (at[name] ??= {}), watch)
    parent[last] =
      schema.type === 'integer' ? Number(text) : schema.type === 'boolean' ? text === 'true' : text
  }
  return watch
}

/** A watch with the same reference would be replaced: it is looked for first. @param {string} list @param {Record<string, string>} values */
async function add(list, values) {
  const reference = values.reference?.trim() ?? ''
  const path = `/watch-lists/${encodeURIComponent(list)}/watches`
  const exists = await callApi(`${path}/${encodeURIComponent(reference)}`).then(
    () => true,
    () => false,
  )
  if (exists) throw new ProblemError(409, { detail: texts.form.exists })
  const body = { watches: [{ reference, ...settingsOf(values) }] }
  await callApi(`${path}?createList=true`, { method: 'POST', body })
}

/** @param {string} list @param {string} reference @param {Record<string, string>} values */
function change(list, reference, values) {
  const path = `/watch-lists/${encodeURIComponent(list)}/watches/${encodeURIComponent(reference)}`
  return callApi(path, { method: 'PATCH', body: settingsOf(values) })
}
