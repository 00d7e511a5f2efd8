import htm from 'htm'
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { typed } from './hooks.js'
import { ProblemError } from './session.js'
import { texts } from './texts.js'

/** @typedef {{ bind: (create: typeof h) => (strings: TemplateStringsArray, ...values: unknown[]) => import('preact').VNode }} Bound */

/** Tagged template for elements. All inserted values are text or elements, never markup. */
export const html = /** @type {Bound} */ (/** @type {unknown} */ (htm)).bind(h)

/** How well something is, with a sign that does not depend on its colour. */
const SIGNS = /** @type {const} */ ({ good: '✓', warn: '!', bad: '✕', idle: '–' })

/**
 * @typedef {keyof typeof SIGNS} Level
 * @param {{ level: Level, sign?: string, children?: unknown }} props
 */
export function Badge({ level, sign = SIGNS[level], children }) {
  return html`<span class="badge ${level}"><span class="sign" aria-hidden="true">${sign}</span><span>${children}</span></span>`
}

/**
 * One question, its answer as a sentence, and what helps. The first warning about it replaces its sentence and its level.
 * Without a level it is neither good nor bad.
 * @param {{ title: string, level?: Level, warnings?: readonly { level: Level, text: string }[], figure?: unknown, sentence: unknown, help?: unknown, children?: unknown }} props
 */
export function Card({ title, figure, help, children, warnings = [], ...usual }) {
  const { level = usual.level, text = usual.sentence } = warnings[0] ?? {}
  return html`<section class="card ${level ?? ''}">
    <h2>${title}</h2>
    ${figure && html`<p class="amount">${figure}</p>`}
    <p class="sentence">${level ? html`<${Badge} level=${level}>${text}<//>` : text}</p>
    ${children}
    ${help && html`<p class="help">${help}</p>`}
  </section>`
}

/** @param {{ label: string, children?: unknown }} props */
export function Figure({ label, children }) {
  return html`<div class="figure"><strong>${children}</strong><span>${label}</span></div>`
}

/**
 * One of a few choices.
 * @param {{ label: string, names: Record<string, string>, chosen: string, onChoose: (name: string) => void }} props
 */
export function Segments({ label, names, chosen, onChoose }) {
  return html`<div class="choices" role="group" aria-label=${label}>${Object.entries(names).map(
    ([name, text]) =>
      html`<button type="button" aria-pressed=${name === chosen} onClick=${() => onChoose(name)}>${text}</button>`,
  )}</div>`
}

/**
 * A list of choices by their values. Without `onChoose` it is a field of a form, and `value` its first value.
 * @param {{ label: string, options: Iterable<[string | number, string]>, value: unknown, onChoose?: (value: string) => void, name?: string }} props
 */
export function Select({ label, options, value, onChoose, name }) {
  return html`<label>${label} <select name=${name} value=${onChoose && value} onChange=${onChoose && typed(onChoose)}>
    ${[...options].map(([one, text]) => html`<option value=${one} defaultSelected=${one === value}>${text}</option>`)}</select></label>`
}

/** An input with its label. @param {{ label: string, [attribute: string]: unknown }} props */
export function Field({ label, ...input }) {
  return html`<label>${label} <input spellcheck=${false} ...${input} /></label>`
}

/** @param {{ label: string, [attribute: string]: unknown }} props */
export function Check({ label, ...input }) {
  return html`<label><input type="checkbox" ...${input} /> ${label}</label>`
}

/** What the colours of a map mean. @param {{ keys: Record<string, string> }} props by the class of the key */
export function Legend({ keys }) {
  return html`<p class="legend">${Object.entries(keys).map(
    ([key, text]) => html`<span><i class="key ${key}"></i> ${text}</span>`,
  )}</p>`
}

/** @param {{ heads: string[], kind?: string, children?: unknown }} props */
export function Table({ heads, kind, children }) {
  return html`<table class=${kind}><thead><tr>${heads.map((text) => html`<th>${text}</th>`)}</tr></thead><tbody>${children}</tbody></table>`
}

/** A share as a bar. @param {{ share: number, label: string }} props */
export function Meter({ share, label }) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, share)))
  return html`<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class="track" width="100" height="4" /><rect class="bar" width=${percent} height="4" /></svg>`
}

/** @param {Error} error */
export function failureText(error) {
  return error instanceof ProblemError ? error.message : texts.unreachable(error.message)
}

/** A value that is shown only once, to be copied. @param {{ value: string, more?: unknown, children?: unknown }} props `more`: other buttons */
export function Once({ value, more, children }) {
  return html`<div class="notice secret" role="status"><p>${children}</p>
    ${navigator.clipboard && html`<button type="button" onClick=${() => navigator.clipboard.writeText(value)}>Copy</button>`}
    ${more}</div>`
}

/** What went wrong, with what is wrong of each value, unless the message is that. @param {{ error: Error, onRetry?: () => void }} props */
export function Failure({ error, onRetry }) {
  const message = failureText(error)
  const all = error instanceof ProblemError ? (error.problem.errors ?? []) : []
  const faults = all.filter(
    ({ pointer, detail }) => all.length > 1 || message !== `${placeOf(pointer)} ${detail}`,
  )
  return html`<div class="notice bad ${onRetry ? 'old' : ''}" role="alert">
    <${Badge} level="bad">${message}<//>
    ${onRetry && html`<button type="button" onClick=${onRetry}>Try again</button>`}
    <${FaultList} faults=${faults} />
  </div>`
}

/** The place of a fault: the row and the column of a file, or the field of a body. @param {string} pointer */
function placeOf(pointer) {
  const [, row = '', column = ''] = /^\/(\d+)(?:\/(\w+))?$/.exec(pointer) ?? []
  return row === '' ? (pointer.split('/').at(-1) ?? '') : texts.import.at(row, column)
}

/** @param {{ faults: readonly { pointer: string, detail: string }[] }} props */
export function FaultList({ faults }) {
  if (faults.length === 0) return null
  return html`<ul class="plain-list faults">
    ${faults.map(({ pointer, detail }) => html`<li>${pointer && html`<strong>${placeOf(pointer)}</strong>: `}${detail}</li>`)}
  </ul>`
}

/** That there is nothing, and what helps. @param {{ texts: string[] }} props */
export function Empty({ texts: [title, help] }) {
  return html`<div class="empty"><p><strong>${title}</strong></p><p>${help}</p></div>`
}

/**
 * Shows a resource: its failure, that it is loading, or its data.
 * @template T
 * @param {import('./hooks.js').Resource<T>} resource
 * @param {(data: T) => unknown} show
 */
export function loaded({ data, error, reload }, show) {
  return html`
    ${error && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${data === undefined ? !error && html`<p class="muted" role="status">${texts.loading}</p>` : show(data)}
  `
}

/**
 * Runs an action, one at a time, and reports how it ended: its failure, or the sentence that it returned.
 * @returns {{ busy: boolean, error: Error | undefined, run: (action: () => Promise<unknown>) => void, report: unknown, forget: () => void }}
 */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const [end, setEnd] = useState(/** @type {unknown} */ (undefined))
  const forget = () => setEnd(undefined)
  const run = (/** @type {() => Promise<unknown>} */ action) => {
    setBusy(true)
    forget()
    action()
      .then(setEnd, setEnd)
      .finally(() => setBusy(false))
  }
  const error = end instanceof Error ? end : undefined
  const report = error
    ? html`<${Failure} error=${error} />`
    : typeof end === 'string' && html`<p role="status" class="small">${end}</p>`
  return { busy, error, run, report, forget }
}

/**
 * A button that runs an action, after a question if there is one, and reports how it ended.
 * @param {{ label: string, run: () => Promise<unknown>, ask?: string, kind?: string, disabled?: boolean, name?: string }} props `name`: what it is for people who do not see where it stands
 */
export function Action({ label, run: action, ask, kind = '', disabled = false, name }) {
  const { busy, run, report } = useAction()
  return html`<button type="button" class=${kind} aria-label=${name} disabled=${busy || disabled}
    onClick=${() => (ask === undefined || confirm(ask)) && run(action)}>${busy ? texts.working : label}</button>${report}`
}

/**
 * A form with its button, and how it ended, until something else is typed. Its fields keep what is typed: `send` gets that
 * by their names.
 * @param {{ kind: string, label: string, send: (fields: Record<string, string>, form: HTMLFormElement) => Promise<unknown>,
 *   disabled?: boolean, button?: string, more?: unknown, onType?: () => void, children?: unknown }} props `button`: the class of its button; `more`: other buttons
 */
export function Form(props) {
  const { kind, label, send, disabled = false, button = 'primary', more, onType, children } = props
  const { busy, run, report, forget } = useAction()
  const type = () => {
    forget()
    onType?.()
  }
  const submit = (/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault()
    const form = event.currentTarget
    const fields = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()])
    run(() => send(Object.fromEntries(fields), form))
  }
  return html`<form class=${kind} onInput=${type} onSubmit=${submit}>${children}
    <div class="buttons"><button type="submit" class=${button} disabled=${busy || disabled}>${busy ? texts.working : label}</button>${more}</div>
    ${report}
  </form>`
}
