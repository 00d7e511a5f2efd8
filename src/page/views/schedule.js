import { UseTable, usesOf } from '../calls.js'
import { useAnswer } from '../hooks.js'
import { Card, Figure, html, Loaded } from '../parts.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { Judged, warningsOfList } from '../warnings.js'
import { FareSearch, OperatorFare } from './fare.js'

const t = texts.schedule

/** How the budget is used, when the lists are fetched next, and one fare with its checks. @param {{ path: string[] }} props */
export function ScheduleView({ path: [fareId] }) {
  return fareId === undefined
    ? html`<${Schedule} />`
    : html`<${OperatorFare} key=${fareId} fareId=${fareId} />`
}

function Schedule() {
  const status = useAnswer('/status', 10_000)
  const calls = useAnswer('/budget/calls', 30_000)
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
      title: t.byLane,
      series: byLane.map((/** @type {any} */ one) => ({
        ...one,
        name: textOf(vocabulary.checks, one.lane),
      })),
    },
    { title: t.byReseller, series: named(byReseller, 'reseller', noReseller) },
    { title: t.byPriority, series: named(byPriority, 'priority', noPriority) },
  ]
  const some = byLane.some((/** @type {any} */ { calls }) => Math.max(...calls) > 0)
  return html`<section class="panel"><h2>${t.calls}</h2>
    ${
      some
        ? html`<div class="sides">${divisions.map(
            ({ title, series }) =>
              html`<section><h3>${title}</h3><${UseTable} uses=${usesOf(series)} /></section>`,
          )}</div>`
        : html`<p class="muted">${t.noCalls}</p>`
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
  const sentence = warning?.text ?? html`${t.listNext} <${Age} at=${list.nextDueAt} />.`
  return html`<${Card} title=${t.list(list.list)} level=${warning?.level ?? 'good'} sentence=${sentence}>
    <div class="figures">
      <${Figure} label=${t.accepted}><${Age} at=${list.lastSuccessAt} none=${texts.never} /><//>
      <${Figure} label=${t.tried}><${Age} at=${list.lastAttemptAt} none=${texts.never} /><//>
    </div><//>`
}

/** @param {{ status: any }} props */
function Budget({ status }) {
  const { fares } = status.beliefs
  const { requestsPerSecond, used } = status.budget
  const sentence = t.budgetFor(requestsPerSecond, texts.count(fares, 'fare'))
  return html`<${Judged} status=${status} about=${['budget', 'upstream']} title=${t.budget} sentence=${sentence}>
    <div class="figures">
      <${Figure} label=${t.used}>${texts.percent(used)}<//>
      <${Figure} label=${t.round}>${durationText(fares / requestsPerSecond)}<//>
    </div>
  <//>`
}
