import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { useEvents } from '../live.js'
import { Card, Figure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'

const EVERY_MS = 5_000
/** A list that is later than this is overdue: a sync may take some minutes. */
const OVERDUE_MS = 10 * 60_000

/** How fresh and how reliable everything is, each as one sentence. @param {{ caller: any }} props */
export function NowView({ caller }) {
  const status = useResource((signal) => callApi('/status', { signal }), [], { everyMs: EVERY_MS })
  // Runs and incidents are sent when they change: the status is read again at once.
  useEvents(
    ({ name }) => {
      if (name === 'runs' || name === 'incidents') status.reload()
    },
    [status.reload],
  )
  const isOperator = caller.kind === 'operator' || caller.demo
  return html`<${Loaded} of=${status}>${(/** @type {any} */ data) => html`
    <div class="cards">
      <${RoutesCard} status=${data} />
      <${FaresCard} status=${data} />
      ${data.detectionDelays && html`<${DelayCard} delays=${data.detectionDelays} />`}
      <${UpstreamCard} status=${data} />
      ${data.budget && html`<${BudgetCard} budget=${data.budget} />`}
      <${HeldCard} status=${data} isOperator=${isOperator} />
      <${IncidentsCard} incidents=${data.incidents} />
    </div>
    <p class="muted small">farewatch ${data.versions.farewatch}, schema ${data.versions.schema}, PostgreSQL ${data.versions.postgresql}; as of <${Clock} at=${data.at} /></p>
  `}<//>`
}

/** @param {any} list */
function isLate({ nextDueAt, lastAttemptAt, lastSuccessAt }) {
  const isDue = nextDueAt !== null && Date.now() - Date.parse(nextDueAt) > OVERDUE_MS
  const hasFailed =
    lastSuccessAt !== null && Date.parse(lastAttemptAt) - Date.parse(lastSuccessAt) > OVERDUE_MS
  return isDue || hasFailed
}

/** @param {{ status: any }} props */
function RoutesCard({ status }) {
  const { lists } = status
  const routes = lists.find((/** @type {any} */ list) => list.list === 'routes')
  const late = lists.filter(isLate)
  const never = routes.lastSuccessAt === null
  const level = never ? 'warn' : late.length > 0 ? 'bad' : 'good'
  const sentence = never
    ? 'No list of routes has been accepted yet.'
    : late.length > 0
      ? `${late.map((/** @type {any} */ list) => list.list).join(' and ')} has no accepted list since its last ones were due.`
      : html`Yes. The routes were fetched <${Age} at=${routes.lastSuccessAt} />.`
  return html`<${Card} title=${texts.now.routes} level=${level} sentence=${sentence}
    help=${level === 'bad' && html`<code>bin/farewatch doctor</code> says what stops the syncs.`}>
    <div class="figures">
      ${lists.map(
        (/** @type {any} */ list) =>
          html`<${Figure} label=${`${list.list}: next fetch`}><${Age} at=${list.nextDueAt} /><//>`,
      )}
    </div>
  <//>`
}

/** @param {{ status: any }} props */
function FaresCard({ status: { beliefs } }) {
  const { fares, stale, unanswered, ageSeconds } = beliefs
  if (fares === 0) {
    return html`<${Card} title=${texts.now.fares} level="idle" sentence="No fare is watched yet."
      help=${html`Add some under <a href=${linkTo('watches')}>${texts.views.watches}</a>.`} />`
  }
  const bad = stale * 10 > fares
  const level = bad ? 'bad' : stale + unanswered > 0 ? 'warn' : 'good'
  const sentence =
    stale > 0
      ? `${texts.count(stale, 'fare')} of ${fares.toLocaleString()} ${stale === 1 ? 'is' : 'are'} too old to rely on.`
      : unanswered > 0
        ? `${texts.count(unanswered, 'fare')} of ${fares.toLocaleString()} had no good check yet.`
        : `Yes. Half of ${texts.count(fares, 'fare')} were checked in the last ${durationText(ageSeconds.p50)}.`
  return html`<${Card} title=${texts.now.fares} level=${level} sentence=${sentence}
    help=${bad && html`A larger budget (<code>UPSTREAM_REQUESTS_PER_SECOND</code>) or fewer watches help.`}>
    ${
      ageSeconds &&
      html`<div class="figures">
      <${Figure} label="median age">${durationText(ageSeconds.p50)}<//>
      <${Figure} label="oldest tenth">${durationText(ageSeconds.p90)}<//>
      <${Figure} label="oldest">${durationText(ageSeconds.max)}<//>
    </div>`
    }
  <//>`
}

/** How late the changes of the last day were detected. @param {{ delays: any[] }} props */
function DelayCard({ delays }) {
  const all = delays.find(({ priority }) => priority === 'all')
  if (!all) {
    return html`<${Card} title=${texts.now.delay} level="idle" sentence="No change was detected in the last day." />`
  }
  const { p50, p95 } = all.midpointSeconds
  return html`<${Card} title=${texts.now.delay} level="good"
    sentence=${`Half of ${texts.count(all.changes, 'change')} in a day were detected within about ${shortText(p50)}, 95 % within ${shortText(p95)}.`}>
    <div class="figures">
      ${delays.map(
        ({ priority, midpointSeconds }) => html`
        <${Figure} label=${`p50, ${texts.priority(priority)}`}>${shortText(midpointSeconds.p50)}<//>
        <${Figure} label=${`p95, ${texts.priority(priority)}`}>${shortText(midpointSeconds.p95)}<//>`,
      )}
      <${Figure} label="p95 at most">${shortText(all.atMostSeconds.p95)}<//>
    </div>
  <//>`
}

/** A delay may be below a second. @param {number} seconds */
const shortText = (seconds) => (seconds < 10 ? `${seconds.toFixed(1)} s` : durationText(seconds))

/** @param {{ status: any }} props */
function UpstreamCard({ status: { upstream, at } }) {
  const { pausedUntil, openBreakers } = upstream
  const [first] = openBreakers
  const paused = pausedUntil !== null && Date.parse(pausedUntil) > Date.parse(at)
  const level = first ? 'bad' : paused ? 'warn' : 'good'
  const sentence = first
    ? html`Calls of ${first.endpoint} have failed since <${Clock} at=${first.since} />${first.cause && ` (${first.cause})`}; single probes test it.`
    : paused
      ? html`It asked us to pause until <${Clock} at=${pausedUntil} />.`
      : 'Yes. It answers.'
  return html`<${Card} title=${texts.now.upstream} level=${level} sentence=${sentence}
    help=${first && html`<code>bin/farewatch upstream probe</code> calls it once and says what it answers. What is believed stays, and is marked stale with time.`} />`
}

/** @param {{ budget: any }} props */
function BudgetCard({ budget }) {
  const { requestsPerSecond, share, used, checksLastMinute, unknownLastMinute } = budget
  const unknown = checksLastMinute === 0 ? 0 : unknownLastMinute / checksLastMinute
  const level = share < 1 ? 'warn' : 'good'
  const percent = Math.round(used * 100)
  const sentence =
    share === 0
      ? 'No: calls are paused.'
      : share < 1
        ? `The upstream limited us to ${Math.round(share * 100)} % of ${requestsPerSecond} requests a second.`
        : `${percent} % of ${requestsPerSecond} requests a second are used.`
  return html`<${Card} title=${texts.now.budget} level=${level} sentence=${sentence}>
    <meter min="0" max="1" value=${Math.min(1, used)} aria-label=${`${percent} %`}></meter>
    <div class="figures">
      <${Figure} label="checks in the last minute">${checksLastMinute.toLocaleString()}<//>
      <${Figure} label="of them unknown">${Math.round(unknown * 100)} %<//>
    </div>
  <//>`
}

/** @param {{ status: any, isOperator: boolean }} props */
function HeldCard({ status: { heldRuns }, isOperator }) {
  const [first] = heldRuns
  const sentence = first
    ? `${texts.count(heldRuns.length, 'list')} ${heldRuns.length === 1 ? 'waits' : 'wait'} for a decision: ${first.reason?.text ?? 'it looks like an accident'}`
    : 'No. Every list was applied or rejected.'
  return html`<${Card} title=${texts.now.held} level=${first ? 'warn' : 'good'} sentence=${sentence}
    help=${first && isOperator && html`<a href=${linkTo('runs', String(first.runId))}>Review run ${first.runId}</a>`} />`
}

/** @param {{ incidents: any[] }} props */
function IncidentsCard({ incidents }) {
  const [first] = incidents
  const sentence = first
    ? html`${first.kind.replaceAll('_', ' ')} since <${Clock} at=${first.openedAt} />: changes of this kind are held, and fares are asked again.`
    : 'No.'
  return html`<${Card} title=${texts.now.incidents} level=${first ? 'bad' : 'good'} sentence=${sentence}
    help=${first && html`<code>bin/farewatch incidents list</code>, and the <a href="/docs/runbooks">runbook</a>.`} />`
}
