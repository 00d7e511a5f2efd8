import { usesOf } from '../calls.js'
import { changeLevel, changeText, feedOf } from '../describe.js'
import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { Badge, Card, Figure, Loaded, Meter } from '../parts.js'
import { keyOf, useChanges } from '../recent-changes.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'
import { levelOf, Warning, warningsAbout } from '../warnings.js'
import { HistoryCards } from './now-history.js'

const EVERY_MS = 5_000
/** Many routes may change at once: fares must not disappear among them. */
const CHANGES = { shown: 300, earlier: 8 }
const SHOWN_FARES = 8
const SHOWN_ROUTES = 4

/** What is not well, what changed last, and how fresh and reliable everything is. @param {{ caller: any }} props */
export function NowView({ caller }) {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  // Runs and incidents are sent when they change: the status is read again at once.
  useEvents(
    ({ name }) => {
      if (name === 'runs' || name === 'incidents') status.reload()
    },
    [status.reload],
  )
  const { isOperator } = caller
  const calls = useResource(
    async (signal) => (isOperator ? callApi('/budget/calls', { signal }) : undefined),
    [isOperator],
    { everyMs: 12 * EVERY_MS },
  )
  return html`<${Loaded} of=${status}>${(/** @type {any} */ data) => html`
    <${Banner} status=${data} caller=${caller} />
    <${PlannedPauses} pauses=${data.pauses} />
    <div class="now">
      <div>
        <${LastChanges} caller=${caller} />
        <${HistoryCards} status=${data} />
      </div>
      <div>
        <${FaresCard} status=${data} mayWatch=${caller.reseller !== null} />
        <${DeliveriesCard} status=${data} caller=${caller} />
        <${UpstreamCard} status=${data} calls=${calls.data} />
        <${HeldCard} status=${data} />
        ${data.processes && html`<${WorkCard} status=${data} />`}
      </div>
    </div>
    <p class="muted small">${texts.now.versions(data.versions.farewatch, data.versions.schema, data.versions.postgresql)} <${Clock} at=${data.at} /></p>
  `}<//>`
}

/** All warnings in one place, or that there are none. @param {{ status: any, caller: any }} props */
function Banner({ status: { warnings }, caller }) {
  if (warnings.length === 0) {
    return html`<p class="banner good"><${Badge} level="good">${texts.now.allWell}<//></p>`
  }
  return html`<ul class="banner ${warnings[0].level}" aria-label=${texts.now.notWell}>
    ${warnings.map((/** @type {any} */ warning) => html`<li><${Warning} warning=${warning} caller=${caller} /></li>`)}
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

/** @param {{ caller: any }} props */
function LastChanges({ caller }) {
  const changes = useChanges(caller, CHANGES)
  return html`<section class="panel last-changes">
    <div class="row"><h2>${texts.now.lastChanges}</h2><a href=${linkTo('changes')}>${texts.now.allChanges}</a></div>
    <${Loaded} of=${changes}>${(/** @type {any[]} */ items) =>
      items.length === 0
        ? html`<p class="muted">${texts.changes.empty} ${texts.changes.emptyHelp}</p>`
        : html`
          <${ChangeList} changes=${items.filter((change) => feedOf(change) !== 'route').slice(0, SHOWN_FARES)} />
          <${ChangeList} changes=${items.filter((change) => feedOf(change) === 'route').slice(0, SHOWN_ROUTES)} />`}<//>
  </section>`
}

/** @param {{ changes: any[] }} props */
function ChangeList({ changes }) {
  return html`<ol>${changes.map(
    (change) => html`<li key=${keyOf(change)}>
              <span class="muted"><${Clock} at=${change.recordedAt} /></span>
              <span class="subject"><strong>${change.subject.title}</strong> <span class="muted">${change.subject.detail}</span></span>
              <${Badge} level=${changeLevel(change)}>${changeText(change)}<//>
            </li>`,
  )}</ol>`
}

/** @param {{ status: any, mayWatch: boolean }} props */
function FaresCard({ status, mayWatch }) {
  const { fares, ageSeconds } = status.beliefs
  if (fares === 0) {
    return html`<${Card} title=${texts.now.fares} level="idle" sentence=${texts.now.noFares}
      help=${mayWatch && html`${texts.now.noFaresHelp} <a href=${linkTo('watches')}>${texts.views.watches}</a>.`} />`
  }
  const [first] = warningsAbout(status, 'fares')
  const sentence =
    first?.text ?? texts.now.checked(texts.count(fares, 'fare'), durationText(ageSeconds.p50))
  return html`<${Card} title=${texts.now.fares} level=${levelOf(status, 'fares')} sentence=${sentence}>
    ${
      ageSeconds &&
      html`<div class="figures">
      <${Figure} label=${texts.now.medianAge}>${durationText(ageSeconds.p50)}<//>
      <${Figure} label=${texts.now.oldestTenth}>${durationText(ageSeconds.p90)}<//>
      <${Figure} label=${texts.now.oldest}>${durationText(ageSeconds.max)}<//>
    </div>`
    }
  <//>`
}

/** @param {{ status: any, caller: any }} props */
function DeliveriesCard({ status, caller }) {
  const { pending, dead, endpoints, oldestPendingAt, disabled } = status.deliveries
  const enabled = endpoints.healthy + endpoints.busy + endpoints.failing
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0)
  const link =
    caller.reseller !== null && html`<a href=${linkTo('deliveries')}>${texts.now.endpoints}</a>`
  if (enabled + off === 0) {
    return html`<${Card} title=${texts.now.deliveries} level="idle" sentence=${texts.now.noEndpoints} help=${link} />`
  }
  const [first] = warningsAbout(status, 'deliveries')
  const sentence = first?.text ?? texts.now.delivered(texts.count(enabled, 'endpoint'))
  return html`<${Card} title=${texts.now.deliveries} level=${levelOf(status, 'deliveries')} sentence=${sentence}
    help=${link}>
    <div class="figures">
      <${Figure} label=${texts.now.pending}>${pending.toLocaleString()}<//>
      ${oldestPendingAt && html`<${Figure} label=${texts.now.oldestPending}><${Age} at=${oldestPendingAt} /><//>`}
      <${Figure} label=${texts.now.failingEndpoints}>${endpoints.failing.toLocaleString()}<//>
      <${Figure} label=${texts.now.disabled}>${off.toLocaleString()}<//>
      <${Figure} label=${texts.now.dead}>${dead.toLocaleString()}<//>
    </div>
  <//>`
}

/** @param {{ status: any, calls: any }} props */
function UpstreamCard({ status, calls }) {
  const [first] = warningsAbout(status, 'upstream', 'budget')
  const isKnown =
    status.beliefs.ageSeconds !== null ||
    status.lists.some((/** @type {any} */ list) => list.lastSuccessAt !== null)
  const level = first === undefined && !isKnown ? 'idle' : levelOf(status, 'upstream', 'budget')
  const sentence = first
    ? html`<${Warning} warning=${first} />`
    : isKnown
      ? texts.now.well
      : texts.now.notAsked
  const { budget } = status
  return html`<${Card} title=${texts.now.upstream} level=${level} sentence=${sentence} help=${usersOf(calls)}>
    ${
      budget &&
      html`<${Meter} share=${budget.used} label=${texts.percent(budget.used)} />
      <p class="muted small">${texts.now.used(texts.percent(budget.used), budget.requestsPerSecond)}</p>`
    }
  <//>`
}

/** The most resellers that are named. */
const NAMED = 3

/** Who uses the budget. @param {any} calls the calls of the last hour; undefined if they are not known */
function usersOf(calls) {
  const series = (calls?.byReseller ?? []).map((/** @type {any} */ one) => ({
    name: one.reseller ?? texts.schedule.noReseller,
    calls: one.calls,
  }))
  const users = usesOf(series).slice(0, NAMED)
  if (users.length === 0) return undefined
  return texts.now.usedBy(
    users.map(({ name, share }) => `${name} ${texts.percent(share)}`).join(', '),
  )
}

/** What waits, and until when: lists, changes of a mass, and fares that their last answer contradicts. @param {{ status: any }} props */
function HeldCard({ status }) {
  const { heldRuns, contradicted } = status
  const waiting = warningsAbout(status, 'held', 'incidents')
  const reviews = heldRuns.filter((/** @type {any} */ { runId }) =>
    waiting.some(({ code, subject }) => code === 'list_held' && subject === String(runId)),
  )
  const [first] = waiting
  const sentence = first
    ? texts.now.held(waiting.length)
    : contradicted
      ? texts.now.contradicted(texts.count(contradicted.fares, 'fare'), contradicted.fares === 1)
      : texts.now.nothingHeld
  return html`<${Card} title=${texts.now.heldTitle} level=${levelOf(status, 'held', 'incidents')} sentence=${sentence}>
    <ul class="plain-list">
      ${waiting.map((warning) => html`<li><${Warning} warning=${warning} /></li>`)}
      ${reviews.map(
        (/** @type {any} */ { runId, releasableAt }) =>
          html`<li class="muted">${
            releasableAt
              ? html`${texts.now.releasable(runId)} <${Clock} at=${releasableAt} />.`
              : texts.now.notReleasable(runId)
          }</li>`,
      )}
      ${
        contradicted &&
        html`<li class="muted">${first && `${texts.now.contradicted(texts.count(contradicted.fares, 'fare'), contradicted.fares === 1)} `}
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
  const waiting = warningsAbout(status, 'work')
  const sentence =
    waiting[0]?.text ?? texts.now.works(texts.count(processes.length, 'process', 'processes'))
  const jobs = (/** @type {string} */ state) =>
    queue.queues.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one[state], 0)
  return html`<${Card} title=${texts.now.work} level=${levelOf(status, 'work')} sentence=${sentence}>
    <div class="figures">
      ${queue.lastTick && html`<${Figure} label=${texts.now.lastTick}><${Age} at=${queue.lastTick.at} /><//>`}
      <${Figure} label=${texts.now.jobs}>${(jobs('waiting') + jobs('active')).toLocaleString()}<//>
      <${Figure} label=${texts.now.deadJobs}>${jobs('dead').toLocaleString()}<//>
    </div>
  <//>`
}
