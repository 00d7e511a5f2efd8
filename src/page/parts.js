import htm from 'htm'
import { h } from 'preact'
import { onSubmit, typed, useAction } from './hooks.js'
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
 * One question, its answer as a sentence, and what helps. Without a level it is neither good nor bad.
 * @param {{ title: string, level?: Level, figure?: unknown, sentence: unknown, help?: unknown, children?: unknown }} props
 */
export function Card({ title, level, figure, sentence, help, children }) {
  return html`<section class="card ${level ?? ''}">
    <h2>${title}</h2>
    ${figure && html`<p class="amount">${figure}</p>`}
    <p class="sentence">${level ? html`<${Badge} level=${level}>${sentence}<//>` : sentence}</p>
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

/** A list of choices by their values. @param {{ label: string, options: Iterable<[string | number, string]>, value: unknown, onChoose: (value: string) => void }} props */
export function Select({ label, options, value, onChoose }) {
  return html`<label>${label} <select value=${value} onChange=${typed(onChoose)}>
    ${[...options].map(([name, text]) => html`<option value=${name}>${text}</option>`)}</select></label>`
}

/** What the colours of a map mean. @param {{ keys: Record<string, string> }} props by the class of the key */
export function Legend({ keys }) {
  return html`<p class="legend">${Object.entries(keys).map(
    ([key, text]) => html`<span><i class="key ${key}"></i> ${text}</span>`,
  )}</p>`
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

/** @param {{ error: Error, onRetry?: () => void }} props */
export function Failure({ error, onRetry }) {
  return html`<div class="notice bad" role="alert">
    <${Badge} level="bad">${failureText(error)}<//>
    ${onRetry && html`<button type="button" onClick=${onRetry}>${texts.retry}</button>`}
  </div>`
}

/** @param {{ title: string, children?: unknown }} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`
}

/**
 * Shows a resource: its failure, that it is loading, or its data.
 * @template T
 * @param {{ of: import('./hooks.js').Resource<T>, children: (data: T) => unknown }} props
 */
export function Loaded({ of, children }) {
  const { data, error, reload } = of
  return html`
    ${error && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${data === undefined ? !error && html`<p class="muted" role="status">${texts.loading}</p>` : children(data)}
  `
}

/**
 * A button that runs an action, says that it runs, and shows its failure.
 * @param {{ label: string, busy: boolean, onClick: () => void, kind?: string, disabled?: boolean }} props
 */
export function Action({ label, busy, onClick, kind = '', disabled = false }) {
  return html`<button type="button" class=${kind} disabled=${busy || disabled} onClick=${onClick}>
    ${busy ? texts.working : label}
  </button>`
}

/**
 * A form with its button, and its failure.
 * @param {{ kind: string, label: string, send: () => Promise<unknown>, disabled?: boolean, children?: unknown }} props
 */
export function Form({ kind, label, send, disabled = false, children }) {
  const { busy, error, run } = useAction()
  return html`<form class=${kind} onSubmit=${onSubmit(() => disabled || run(send))}>${children}
    <button type="submit" class="primary" disabled=${busy || disabled}>${busy ? texts.working : label}</button>
    ${error && html`<${Failure} error=${error} />`}
  </form>`
}
