import { UseTable, usesOf } from '../calls.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { judgeList } from '../judge.js'
import { Card, Figure, Loaded, Meter } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { FareSearch } from './fare.js'

const EVERY_MS = 10_000

/** How the budget is used, when the lists are fetched next, and one fare with its checks. @param {{ path: string[] }} props */
export function ScheduleView({ path: [fareId] }) {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  const calls = useResource((signal) => callApi('/budget/calls', { signal }), [], {
    everyMs: 3 * EVERY_MS,
  })
  return html`<${Loaded} of=${status}>${(/** @type {any} */ { budget, beliefs, lists, at }) => html`
    <div class="cards">
      ${budget && html`<${Budget} budget=${budget} fares=${beliefs.fares} />`}
      ${lists.map((/** @type {any} */ list) => html`<${List} key=${list.list} list=${list} now=${Date.parse(at)} />`)}
    </div>`}<//>
    <${Loaded} of=${calls}>${(/** @type {any} */ data) => html`<${Calls} calls=${data} />`}<//>
    <${FareSearch} fareId=${fareId} />`
}

/** Where the calls of the last hour went, in three divisions. @param {{ calls: any }} props */
function Calls({ calls: { byLane, byReseller, byPriority } }) {
  const divisions = [
    {
      title: texts.schedule.byLane,
      series: byLane.map((/** @type {any} */ { lane, calls }) => ({
        name: textOf(texts.schedule.lanes, lane),
        calls,
      })),
    },
    {
      title: texts.schedule.byReseller,
      series: byReseller.map((/** @type {any} */ { reseller, calls }) => ({
        name: reseller ?? texts.schedule.noReseller,
        calls,
      })),
    },
    {
      title: texts.schedule.byPriority,
      series: byPriority.map((/** @type {any} */ { priority, calls }) => ({
        name: priority ?? texts.schedule.noPriority,
        calls,
      })),
    },
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

/** @param {{ list: any, now: number }} props */
function List({ list, now }) {
  const { state, level } = judgeList(list, now)
  const sentence =
    state === 'late'
      ? texts.schedule.listLate
      : state === 'failing'
        ? texts.schedule.listFailing
        : texts.schedule.listNext
  return html`<${Card} title=${texts.schedule.list(list.list)} level=${level}
    sentence=${html`${sentence} <${Age} at=${list.nextDueAt} />.`}>
    <div class="figures">
      <${Figure} label=${texts.schedule.accepted}><${Age} at=${list.lastSuccessAt} none=${texts.never} /><//>
      <${Figure} label=${texts.schedule.tried}><${Age} at=${list.lastAttemptAt} none=${texts.never} /><//>
    </div><//>`
}

/** @param {{ budget: any, fares: number }} props */
function Budget({ budget, fares }) {
  const { requestsPerSecond, share, used, checksLastMinute, aheadSeconds } = budget
  const sentence =
    share === 0
      ? texts.now.callsPaused
      : share < 1
        ? texts.now.limited(texts.percent(share), requestsPerSecond)
        : texts.schedule.budgetFor(requestsPerSecond, texts.count(fares, 'fare'))
  return html`<${Card} title=${texts.schedule.budget} level=${share < 1 ? 'warn' : 'good'} sentence=${sentence}>
    <${Meter} share=${used} label=${texts.percent(used)} />
    <div class="figures">
      <${Figure} label=${texts.schedule.used}>${texts.percent(used)}<//>
      <${Figure} label=${texts.now.checks}>${checksLastMinute.toLocaleString()}<//>
      <${Figure} label=${texts.schedule.ahead}>${aheadSeconds.toFixed(1)} s<//>
      <${Figure} label=${texts.schedule.round}>${durationText(fares / requestsPerSecond)}<//>
    </div>
  <//>`
}
