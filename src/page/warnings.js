/**
 * @import { Status, StatusWarning } from './api-types.ts'
 * @import { Level } from './parts.js'
 * @import { Caller } from './session.js'
 */
import { linkTo } from './hooks.js'
import { Badge, Card, html } from './parts.js'
import { texts } from './texts.js'
import { Clock } from './times.js'

/**
 * The warnings about some subjects, the worst first.
 * @param {Status} status
 * @param {...string} subjects
 */
export function warningsAbout({ warnings }, ...subjects) {
  return warnings.filter(({ about }) => subjects.includes(about))
}

/**
 * The warnings about a list of routes: of its syncs, and of runs of it that wait for a decision.
 * @param {Status} status
 * @param {string} list
 */
export function warningsOfList(status, list) {
  return warningsAbout(status, 'routes', 'held').filter(({ subject }) => subject === list)
}

/**
 * A warning as a sentence with its level, its times and what helps.
 * @param {{ warning: StatusWarning, status: Status, caller: Caller }} props
 */
export function Warning({ warning, status, caller }) {
  const { level, text, since, until } = warning
  const sentence = html`${text} ${since && html`<span class="muted">${texts.now.since} <${Clock} at=${since} /></span>`}
    ${until && html` <span class="muted">${texts.now.until} <${Clock} at=${until} /></span>`}`
  const help = helpFor(warning, status, caller)
  return html`<${Badge} level=${level}>${sentence}<//>${help && html` <span class="help">${help}</span>`}`
}

/**
 * A card about subjects of the status. A warning about them replaces its sentence and its level.
 * @param {{ status: Status, about: string[], level?: Level, sentence: unknown, [other: string]: unknown }} props
 */
export function Judged({ status, about, level = 'good', sentence, ...card }) {
  const [first] = warningsAbout(status, ...about)
  return html`<${Card} level=${first?.level ?? level} sentence=${first?.text ?? sentence} ...${card} />`
}

/** What one does about it. @param {StatusWarning} warning @param {Status} status @param {Caller} caller */
function helpFor({ about, code, subject, command, todo }, { heldRuns }, { reseller }) {
  if (about === 'deliveries' && reseller !== null) {
    return html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  }
  if (command === null) return null
  const held = heldRuns.find(({ list }) => list === subject)
  if (code === 'list_held' && held) {
    return html`<a href=${linkTo('runs', held.runId)}>${texts.now.review(held.runId)}</a>`
  }
  return html`<code>${command}</code> ${todo}`
}
