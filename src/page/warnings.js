import { linkTo } from './hooks.js'
import { Badge, Card, html } from './parts.js'
import { texts } from './texts.js'
import { Clock } from './times.js'

/**
 * A warning of the status, as the API judges it.
 * @typedef {{ about: string, code: string, level: 'warn' | 'bad', subject: string | null, text: string,
 *   since: string | null, until: string | null, command: string | null, todo: string | null }} StatusWarning
 */

/**
 * The warnings about some subjects, the worst first.
 * @param {any} status the answer of /status
 * @param {...string} subjects
 * @returns {StatusWarning[]}
 */
export function warningsAbout({ warnings }, ...subjects) {
  return warnings.filter((/** @type {StatusWarning} */ { about }) => subjects.includes(about))
}

/**
 * The warnings about a list of routes: of its syncs, and of runs of it that wait for a decision.
 * @param {any} status the answer of /status
 * @param {string} list
 */
export function warningsOfList(status, list) {
  return warningsAbout(status, 'routes', 'held').filter(({ subject }) => subject === list)
}

/**
 * A warning as a sentence with its times; for a caller also its level and what helps.
 * @param {{ warning: StatusWarning, status?: any, caller?: import('./session.js').Caller }} props
 */
export function Warning({ warning, status, caller }) {
  const { level, text, since, until } = warning
  const sentence = html`${text} ${since && html`<span class="muted">${texts.now.since} <${Clock} at=${since} /></span>`}
    ${until && html` <span class="muted">${texts.now.until} <${Clock} at=${until} /></span>`}`
  if (caller === undefined) return sentence
  const help = helpFor(warning, status, caller)
  return html`<${Badge} level=${level}>${sentence}<//>${help && html` <span class="help">${help}</span>`}`
}

/**
 * A card about subjects of the status. A warning about them replaces its sentence and its level.
 * @param {{ status: any, about: string[], level?: import('./parts.js').Level, sentence: unknown, [other: string]: unknown }} props
 */
export function Judged({ status, about, level = 'good', sentence, ...card }) {
  const [first] = warningsAbout(status, ...about)
  return html`<${Card} level=${first?.level ?? level} sentence=${first?.text ?? sentence} ...${card} />`
}

/** What one does about it. @param {StatusWarning} warning @param {any} status @param {import('./session.js').Caller} caller */
function helpFor({ about, code, subject, command, todo }, { heldRuns }, { reseller }) {
  if (about === 'deliveries' && reseller !== null) {
    return html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  }
  if (command === null) return null
  if (code === 'list_held') {
    const { runId } = heldRuns.find((/** @type {any} */ { list }) => list === subject)
    return html`<a href=${linkTo('runs', String(runId))}>${texts.now.review(runId)}</a>`
  }
  return html`<code>${command}</code> ${todo}`
}
