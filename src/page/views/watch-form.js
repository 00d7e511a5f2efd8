import { useState } from 'preact/hooks'
import { onSubmit, useAction } from '../hooks.js'
import { html } from '../html.js'
import { Action, Failure } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { texts } from '../texts.js'
import { termOf, vocabulary } from '../vocabulary.js'

/** Settings that are empty for most watches, with their types of input and hints. */
const SETTINGS = /** @type {const} */ ([
  { name: 'departsOn', type: 'date', hint: '' },
  { name: 'priceThresholdAmount', type: 'text', hint: texts.form.amountHint },
  { name: 'priceThresholdPercent', type: 'text', hint: texts.form.percentHint },
  { name: 'minIntervalSeconds', type: 'number', hint: '' },
  { name: 'maxDelaySeconds', type: 'number', hint: '' },
])
const PRIORITIES = /** @type {const} */ (['low', 'normal', 'high', 'urgent'])

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
  const choice = (
    /** @type {string} */ name,
    /** @type {string} */ label,
    /** @type {readonly string[]} */ allowed,
  ) => html`<label>${label}<select value=${values[name]} onChange=${set(name)}>
    ${allowed.map((value) => html`<option value=${value}>${value}</option>`)}</select></label>`
  return html`<form class="watch-form" onSubmit=${onSubmit(() => run(save))}>
    ${watch === undefined && field('reference', { required: true, hint: texts.form.referenceHint })}
    ${field('flightId', { required: true })}
    ${field('returnFlightId')}
    <p class="help">${texts.form.flightHelp}</p>
    <fieldset><legend>${texts.form.terms}</legend>${vocabulary.terms.map(
      ({ column, label, schema }) =>
        schema.enum
          ? choice(column, label, schema.enum)
          : html`<label>${label}<input type="number" min=${schema.minimum} max=${schema.maximum} value=${values[column]} onInput=${set(column)} /></label>`,
    )}</fieldset>
    ${SETTINGS.map(({ name, ...options }) => field(name, options))}
    ${choice('priority', texts.form.priority, PRIORITIES)}
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
  const terms = vocabulary.terms.map((term) => [term.column, String(termOf(watch, term))])
  const names = ['reference', 'flightId', 'returnFlightId', ...SETTINGS.map(({ name }) => name)]
  const others = names.map((name) => [name, String(watch?.[name] ?? '')])
  const priority = ['priority', watch?.priority ?? 'normal']
  return Object.fromEntries([...others, priority, ...terms])
}

/** @param {Record<string, string>} values */
function settingsOf(values) {
  const settings = Object.fromEntries(
    ['returnFlightId', ...SETTINGS.map(({ name }) => name)].map((name) => {
      const value = values[name]?.trim() ?? ''
      return [name, value === '' ? null : name.endsWith('Seconds') ? Number(value) : value]
    }),
  )
  const { flightId, priority } = values
  return { flightId: flightId?.trim(), priority, ...settings, ...termsOf(values) }
}

/** @param {Record<string, string>} values */
function termsOf(values) {
  /** @type {any} */
  const terms = {}
  for (const { column, pointer, schema } of vocabulary.terms) {
    const [, ...parents] = pointer.split('/')
    const last = parents.pop() ?? ''
    const parent = parents.reduce((at, name) => (at[name] ??= {}), terms)
    parent[last] = schema.type === 'string' ? values[column] : Number(values[column])
  }
  return terms
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
