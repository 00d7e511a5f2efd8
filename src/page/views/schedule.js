/** @import { BudgetCalls, Status } from '../api-types.ts' */
import { UseTable, usesOf } from '../calls.js'
import { useAnswer } from '../hooks.js'
import { Card, Figure, html, loaded } from '../parts.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { warningsAbout, warningsOfList } from '../warnings.js'
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
  return html`${loaded(
    status,
    (data) => html`
    <div class="cards">
      ${data.budget && html`<${Budget} status=${data} budget=${data.budget} />`}
      ${data.lists.map((list) => html`<${List} key=${list.list} list=${list} status=${data} />`)}
    </div>`,
  )}
    ${loaded(calls, (data) => html`<${Calls} calls=${data} />`)}
    <${FareSearch} />`
}

/** Where the calls of the last hour went, in three divisions. @param {{ calls: BudgetCalls }} props */
function Calls({ calls: { byLane, byReseller, byPriority } }) {
  const divisions = [
    {
      title: 'By lane',
      series: named(byLane, ({ lane }) => textOf(vocabulary.checks, lane)),
    },
    {
      title: 'By reseller',
      series: named(byReseller, ({ reseller }) => reseller ?? 'no reseller'),
    },
    {
      title: 'By priority',
      series: named(byPriority, ({ priority }) => priority ?? 'no priority'),
    },
  ]
  const some = byLane.some(({ calls }) => Math.max(...calls) > 0)
  return html`<section class="panel"><h2>Where the calls of the last hour went</h2>
    ${
      some
        ? html`<div class="sides">${divisions.map(
            ({ title, series }) =>
              html`<section><h3>${title}</h3><${UseTable} uses=${usesOf(series)} /></section>`,
          )}</div>`
        : html`<p class="muted">No call was counted in the last hour.</p>`
    }
  </section>`
}

/** @template T @param {readonly T[]} series @param {(one: T) => string} nameOf */
function named(series, nameOf) {
  return series.map((one) => ({ ...one, name: nameOf(one) }))
}

/** @param {{ list: Status['lists'][number], status: Status }} props */
function List({ list, status }) {
  const sentence = html`It is fetched again <${Age} at=${list.nextDueAt} />.`
  return html`<${Card} title=${t.list(list.list)} level="good" warnings=${warningsOfList(status, list.list)} sentence=${sentence}>
    <div class="figures">
      <${Figure} label="last accepted"><${Age} at=${list.lastSuccessAt} none=${texts.never} /><//>
      <${Figure} label="last tried"><${Age} at=${list.lastAttemptAt} none=${texts.never} /><//>
    </div><//>`
}

/** @param {{ status: Status, budget: NonNullable<Status['budget']> }} props */
function Budget({ status, budget: { requestsPerSecond, used } }) {
  const { fares } = status.beliefs
  const sentence = t.budgetFor(requestsPerSecond, texts.count(fares, 'fare'))
  return html`<${Card} warnings=${warningsAbout(status, 'budget', 'upstream')} level="good" title="The budget" sentence=${sentence}>
    <div class="figures">
      <${Figure} label="used in the last minute">${texts.percent(used)}<//>
      <${Figure} label="time to check all fares once">${durationText(fares / requestsPerSecond)}<//>
    </div>
  <//>`
}
