import { UseTable, usesOf } from '../calls.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Card, Figure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { Judged, warningsOfList } from '../warnings.js'
import { FareSearch, OperatorFare } from './fare.js'

const EVERY_MS = 10_000

/** How the budget is used, when the lists are fetched next, and one fare with its checks. @param {{ path: string[] }} props */
export function ScheduleView({ path: [fareId] }) {
  return fareId === undefined
    ? html`<${Schedule} />`
    : html`<${OperatorFare} key=${fareId} fareId=${fareId} />`
}

function Schedule() {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  const calls = useResource((signal) => callApi('/budget/calls', { signal }), [], {
    everyMs: 3 * EVERY_MS,
  })
  return html`<${Loaded} of=${status}>${(/** @type {any} */ data) => html`
    <div class="cards">
      ${data.budget && html`<${Budget} status=${data} />`}
      ${data.lists.map((/** @type {any} */ list) => html`<${List} key=${list.list} list=${list} status=${data} />`)}
    </div>`}<//>
    <${Loaded} of=${calls}>${(/** @type {any} */ data) => html`<${Calls} calls=${data} />`}<//>
    <${FareSearch} />`
}

/** Where the calls of the last hour went, in three divisions. @param {{ calls: any }} props */
function Calls({ calls: { byLane, byReseller, byPriority } }) {
  const { noReseller, noPriority } = texts.schedule
  const divisions = [
    {
      title: texts.schedule.byLane,
      series: byLane.map((/** @type {any} */ one) => ({
        ...one,
        name: textOf(vocabulary.checks, one.lane),
      })),
    },
    { title: texts.schedule.byReseller, series: named(byReseller, 'reseller', noReseller) },
    { title: texts.schedule.byPriority, series: named(byPriority, 'priority', noPriority) },
  ]
  const some = byLane.some((/** @type {any} */ { calls }) => Math.max(...calls) > 0)
  return html`<section class="panel"><h2>${texts.schedule.calls}</h2>
    ${
      some
        ? html`<div class="sides">${divisions.map(
            ({ title, series }) =>
              html`<section><h3>${title}</h3><${UseTable} uses=${usesOf(series)} /></section>`,
          )}</div>`
        : html`<p class="muted">${texts.schedule.noCalls}</p>`
    }
  </section>`
}

/** @param {any[]} series @param {string} by @param {string} none */
function named(series, by, none) {
  return series.map((one) => ({ ...one, name: one[by] ?? none }))
}

/** @param {{ list: any, status: any }} props */
function List({ list, status }) {
  const [warning] = warningsOfList(status, list.list)
  const sentence =
    warning?.text ?? html`${texts.schedule.listNext} <${Age} at=${list.nextDueAt} />.`
  return html`<${Card} title=${texts.schedule.list(list.list)} level=${warning?.level ?? 'good'} sentence=${sentence}>
    <div class="figures">
      <${Figure} label=${texts.schedule.accepted}><${Age} at=${list.lastSuccessAt} none=${texts.never} /><//>
      <${Figure} label=${texts.schedule.tried}><${Age} at=${list.lastAttemptAt} none=${texts.never} /><//>
    </div><//>`
}

/** @param {{ status: any }} props */
function Budget({ status }) {
  const { fares } = status.beliefs
  const { requestsPerSecond, used, checksLastMinute } = status.budget
  const sentence = texts.schedule.budgetFor(requestsPerSecond, texts.count(fares, 'fare'))
  return html`<${Judged} status=${status} about=${['budget', 'upstream']} title=${texts.schedule.budget} sentence=${sentence}>
    <div class="figures">
      <${Figure} label=${texts.schedule.used}>${texts.percent(used)}<//>
      <${Figure} label=${texts.now.checksLastMinute}>${checksLastMinute.toLocaleString()}<//>
      <${Figure} label=${texts.schedule.round}>${durationText(fares / requestsPerSecond)}<//>
    </div>
  <//>`
}
