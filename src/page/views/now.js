import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { Badge, Card, Figure, Loaded } from '../parts.js'
import { useChanges } from '../recent-changes.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'
import { Judged, Warning, warningsAbout } from '../warnings.js'
import { ChangeList, divided } from './changes.js'
import { DelayTile, HistoryCards, useHistory } from './now-history.js'

const EVERY_MS = 5_000
/** Many routes may change at once: fares must not disappear among them. */
const CHANGES = { shown: 300, earlier: 12 }
const SHOWN = 7

/** What is not well, what changed last, and how fresh and reliable everything is. @param {{ caller: import('../session.js').Caller }} props */
export function NowView({ caller }) {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  // Runs and incidents are sent when they change: the status is read again at once.
  useEvents(
    ({ name }) => {
      if (name === 'runs' || name === 'incidents') status.reload()
    },
    [status.reload],
  )
  const { history, setHours } = useHistory()
  return html`<${Loaded} of=${status}>${(/** @type {any} */ data) => html`
    <${Banner} status=${data} caller=${caller} />
    <${PlannedPauses} pauses=${data.pauses} />
    <${MadeUp} demo=${data.demo} />
    <div class="tiles">
      <${FaresCard} status=${data} mayWatch=${caller.reseller !== null} />
      ${history.data && html`<${DelayTile} history=${history.data} status=${data} span=${history.data.span} />`}
      <${DeliveriesCard} status=${data} caller=${caller} />
      <${HeldCard} status=${data} />
    </div>
    <${LastChanges} caller=${caller} />
    <${Loaded} of=${history}>${(/** @type {any} */ read) => html`
      <${HistoryCards} history=${read} status=${data} onHours=${setHours}>
        <${UpstreamCard} status=${data} />
        ${data.processes && html`<${WorkCard} status=${data} />`}
      <//>`}<//>
    <p class="muted small">${texts.now.versions(data.versions.farewatch, data.versions.schema, data.versions.postgresql)} <${Clock} at=${data.at} /></p>
  `}<//>`
}

/** All warnings in one place, or that there are none. @param {{ status: any, caller: import('../session.js').Caller }} props */
function Banner({ status, caller }) {
  const { warnings } = status
  if (warnings.length === 0) {
    return html`<p class="banner good"><${Badge} level="good">${texts.now.allWell}<//></p>`
  }
  return html`<ul class="banner ${warnings[0].level}" aria-label=${texts.now.notWell}>
    ${warnings.map((/** @type {any} */ warning) => html`<li><${Warning} warning=${warning} status=${status} caller=${caller} /></li>`)}
  </ul>`
}

/** What operators will stop: a pause that runs is a warning. @param {{ pauses: any[] }} props */
function PlannedPauses({ pauses }) {
  return pauses
    .filter(({ running }) => !running)
    .map(
      ({ what, from, until, reason }) =>
        html`<p class="banner idle"><span>${textOf(texts.now.planned, what)} <${Clock} at=${from} /> ${until === null ? texts.now.untilResumed : html`${texts.now.until} <${Clock} at=${until} />`}${reason && `: ${reason}`}.</span></p>`,
    )
}

/** What of the history was made up. @param {{ demo: any }} props */
function MadeUp({ demo }) {
  if (!demo?.historySince) return null
  const { historySince: since, historyUntil: until } = demo
  return html`<p class="banner idle"><span><${Badge} level="idle">${texts.now.demo}<//> ${texts.now.madeUp} <${Clock} at=${since} /> ${texts.now.until} <${Clock} at=${until} />.</span></p>`
}

/** Fares and routes apart: many routes may change at once. @param {{ caller: import('../session.js').Caller }} props */
function LastChanges({ caller }) {
  const changes = useChanges(caller, CHANGES)
  const canWatch = caller.scopes.includes('watch')
  return html`<${Loaded} of=${changes}>${(
    /** @type {any[]} */ items,
  ) => html`<div class="last-changes">
    ${Object.entries(divided(items)).map(
      ([about, some]) =>
        (about === 'fares' || some.length > 0) &&
        html`<section>
        <div class="row"><h2>${texts.now.last[about]}</h2><a href=${linkTo('changes')}>${texts.now.allChanges}</a></div>
        ${
          some.length === 0
            ? html`<p class="muted">${texts.changes.empty} ${texts.changes.emptyHelp}</p>`
            : html`<${ChangeList} changes=${some.slice(0, SHOWN)} canWatch=${canWatch} />`
        }
      </section>`,
    )}</div>`}<//>`
}

/** @param {{ status: any, mayWatch: boolean }} props */
function FaresCard({ status, mayWatch }) {
  const { fares, ageSeconds } = status.beliefs
  if (fares === 0) {
    return html`<${Card} title=${texts.now.fares} level="idle" sentence=${texts.now.noFares}
      help=${mayWatch && html`${texts.now.noFaresHelp} <a href=${linkTo('watches')}>${texts.views.watches}</a>.`} />`
  }
  const sentence = texts.now.checked(texts.count(fares, 'fare'), durationText(ageSeconds?.p50 ?? 0))
  const help =
    ageSeconds && texts.now.oldestAges(durationText(ageSeconds.p90), durationText(ageSeconds.max))
  return html`<${Judged} status=${status} about=${['fares']} title=${texts.now.fares} sentence=${sentence} help=${help}
    figure=${ageSeconds ? durationText(ageSeconds.p50) : texts.none} />`
}

/** @param {{ status: any, caller: import('../session.js').Caller }} props */
function DeliveriesCard({ status, caller }) {
  const { pending, endpoints, oldestPendingAt, disabled } = status.deliveries
  const enabled = endpoints.healthy + endpoints.busy + endpoints.failing
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0)
  const link =
    caller.reseller !== null && html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  if (enabled + off === 0) {
    return html`<${Card} title=${texts.now.deliveries} level="idle" sentence=${texts.now.noEndpoints} help=${link} />`
  }
  return html`<${Judged} status=${status} about=${['deliveries']} title=${texts.now.deliveries} sentence=${texts.now.delivered(texts.count(enabled, 'endpoint'))}
    figure=${html`${pending.toLocaleString()} <small>${texts.now.pending}</small>`}
    help=${html`${oldestPendingAt && html`${texts.now.oldestPending} <${Age} at=${oldestPendingAt} />`} ${link}`} />`
}

/** @param {{ status: any }} props */
function UpstreamCard({ status }) {
  const { budget } = status
  const isKnown =
    status.beliefs.ageSeconds !== null ||
    status.lists.some((/** @type {any} */ list) => list.lastSuccessAt !== null)
  return html`<${Judged} status=${status} about=${['upstream', 'budget']} title=${texts.now.upstream}
    level=${isKnown ? 'good' : 'idle'} sentence=${isKnown ? texts.now.well : texts.now.notAsked}>
    ${
      budget &&
      html`<p class="muted small">${texts.now.used(texts.percent(budget.used), budget.requestsPerSecond)}</p>`
    }
  <//>`
}

/** What waits, and until when: lists, changes of a mass, and fares that their last answer contradicts. @param {{ status: any }} props */
function HeldCard({ status }) {
  const { heldRuns, contradicted } = status
  const waiting = warningsAbout(status, 'held', 'incidents')
  const [first] = waiting
  const count = contradicted?.fares
  const contradicts = count && texts.now.contradicted(texts.count(count, 'fare'), count === 1)
  const sentence = first ? texts.now.held(waiting.length) : contradicts || texts.now.nothingHeld
  return html`<${Card} title=${texts.now.heldTitle} level=${first?.level ?? 'good'} sentence=${sentence}
    figure=${(waiting.length || count || 0).toLocaleString()}>
    <ul class="plain-list">
      ${heldRuns.map(
        (/** @type {any} */ { runId, releasableAt }) =>
          html`<li class="muted">${
            releasableAt
              ? html`${texts.now.releasable(runId)} <${Clock} at=${releasableAt} />.`
              : texts.now.notReleasable(runId)
          }</li>`,
      )}
      ${
        contradicted &&
        html`<li class="muted">${first && `${contradicts} `}
          ${contradicted.waits.map(
            (/** @type {any} */ { wait, fares, since }) =>
              html`${fares.toLocaleString()} ${textOf(texts.now.waits, wait)} <${Clock} at=${since} />. `,
          )}
          ${contradicted.until && html`${texts.now.secondCheck} <${Age} at=${contradicted.until} past=${texts.now.soon} />.`}</li>`
      }
    </ul>
  <//>`
}

/** @param {{ status: any }} props */
function WorkCard({ status }) {
  const { processes, queue } = status
  const sentence = texts.now.works(texts.count(processes.length, 'process', 'processes'))
  const jobs = (/** @type {string} */ state) =>
    queue.queues.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one[state], 0)
  return html`<${Judged} status=${status} about=${['work']} title=${texts.now.work} sentence=${sentence}>
    <div class="figures">
      ${queue.lastTick && html`<${Figure} label=${texts.now.lastTick}><${Age} at=${queue.lastTick.at} /><//>`}
      <${Figure} label=${texts.now.jobs}>${(jobs('waiting') + jobs('active')).toLocaleString()}<//>
      <${Figure} label=${texts.now.deadJobs}>${jobs('dead').toLocaleString()}<//>
    </div>
  <//>`
}
