/**
 * @import { Status, StatusWarning } from './api-types.ts'
 */
import { linkTo } from './hooks.js'
import { Badge, html } from './parts.js'
import { caller } from './session.js'
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
 * @param {{ warning: StatusWarning, status: Status }} props
 */
export function Warning({ warning, status }) {
  const { level, text, since, until } = warning
  const sentence = html`${text} ${since && html`<span class="muted">since <${Clock} at=${since} /></span>`}
    ${until && html` <span class="muted">${texts.now.until} <${Clock} at=${until} /></span>`}`
  const help = helpFor(warning, status)
  return html`<${Badge} level=${level}>${sentence}<//>${help && html` <span class="help">${help}</span>`}`
}

/** What one does about it. @param {StatusWarning} warning @param {Status} status */
function helpFor({ about, code, subject, command, todo }, { heldRuns }) {
  if (about === 'deliveries' && caller.reseller !== null) {
    return html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  }
  if (command === null) return null
  const held = heldRuns.find(({ list }) => list === subject)
  if (code === 'list_held' && held) {
    return html`<a href=${linkTo('runs', held.runId)}>${texts.now.review(held.runId)}</a>`
  }
  return html`<code>${command}</code> ${todo}`
}
