import { linkTo } from './hooks.js'
import { html } from './html.js'
import { Badge, Card } from './parts.js'
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
  const held = status.heldRuns
    .filter((/** @type {any} */ run) => run.list === list)
    .map((/** @type {any} */ { runId }) => String(runId))
  return [
    ...warningsAbout(status, 'routes').filter(({ subject }) => subject === list),
    ...warningsAbout(status, 'held').filter(
      ({ code, subject }) => code === 'list_held' && held.includes(subject),
    ),
  ]
}

/** How well a subject is: what the API warns of is never green. @param {any} status @param {...string} subjects @returns {import('./parts.js').Level} */
export function levelOf(status, ...subjects) {
  return warningsAbout(status, ...subjects)[0]?.level ?? 'good'
}

/**
 * A warning as a sentence with its times; for a caller also its level and what helps.
 * @param {{ warning: StatusWarning, caller?: import('./session.js').Caller }} props
 */
export function Warning({ warning, caller }) {
  const { level, text, since, until } = warning
  const sentence = html`${text} ${since && html`<span class="muted">${texts.now.since} <${Clock} at=${since} /></span>`}
    ${until && html` <span class="muted">${texts.now.until} <${Clock} at=${until} /></span>`}`
  if (caller === undefined) return sentence
  const help = helpFor(warning, caller)
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

/** What one does about it. @param {StatusWarning} warning @param {import('./session.js').Caller} caller */
function helpFor({ about, code, subject, command, todo }, { reseller }) {
  if (about === 'deliveries' && reseller !== null) {
    return html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  }
  if (command === null) return null
  if (code === 'list_held' && subject !== null) {
    return html`<a href=${linkTo('runs', subject)}>${texts.now.review(subject)}</a>`
  }
  return html`<code>${command}</code> ${todo}`
}
