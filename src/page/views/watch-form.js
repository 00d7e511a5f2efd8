import { useState } from 'preact/hooks'
import { onSubmit, useAction } from '../hooks.js'
import { html } from '../html.js'
import { Action, Failure } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { texts } from '../texts.js'

const GROUPS = /** @type {const} */ (['residents', 'nonResidents'])
const AGES = /** @type {const} */ (['adults', 'children', 'infants'])
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
  return html`<form class="watch-form" onSubmit=${onSubmit(() => run(save))}>
    ${watch === undefined && field('reference', { required: true, hint: texts.form.referenceHint })}
    ${field('flightId', { required: true })}
    ${field('returnFlightId')}
    <p class="help">${texts.form.flightHelp}</p>
    ${GROUPS.map(
      (group) => html`<fieldset><legend>${texts.form[group]}</legend>
      ${AGES.map((age) => html`<label>${texts.form[age]}<input type="number" min="0" max="12" value=${values[`${group} ${age}`]} onInput=${set(`${group} ${age}`)} /></label>`)}</fieldset>`,
    )}
    ${SETTINGS.map(({ name, ...options }) => field(name, options))}
    <label>${texts.form.priority}<select value=${values.priority} onChange=${set('priority')}>
      ${PRIORITIES.map((priority) => html`<option value=${priority}>${priority}</option>`)}</select></label>
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
  const counts = GROUPS.flatMap((group) =>
    AGES.map((age) => {
      const preset = group === 'nonResidents' && age === 'adults' ? 1 : 0
      return [`${group} ${age}`, String(watch?.passengers[group][age] ?? preset)]
    }),
  )
  const names = ['reference', 'flightId', 'returnFlightId', ...SETTINGS.map(({ name }) => name)]
  const others = names.map((name) => [name, String(watch?.[name] ?? '')])
  const priority = ['priority', watch?.priority ?? 'normal']
  return Object.fromEntries([...others, priority, ...counts])
}

/** @param {Record<string, string>} values */
function settingsOf(values) {
  const passengers = Object.fromEntries(
    GROUPS.map((group) => [
      group,
      Object.fromEntries(AGES.map((age) => [age, Number(values[`${group} ${age}`])])),
    ]),
  )
  const settings = Object.fromEntries(
    ['returnFlightId', ...SETTINGS.map(({ name }) => name)].map((name) => {
      const value = values[name]?.trim() ?? ''
      return [name, value === '' ? null : name.endsWith('Seconds') ? Number(value) : value]
    }),
  )
  const { flightId, priority } = values
  return { flightId: flightId?.trim(), passengers, priority, ...settings }
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
