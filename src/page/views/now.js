import { usesOf } from '../calls.js'
import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { judgeList, judgeUpstream, silentShareOf } from '../judge.js'
import { useEvents } from '../live.js'
import { Card, Figure, Loaded, Meter } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'

const EVERY_MS = 5_000

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
  const { isOperator } = caller
  const calls = useResource(
    async (signal) => (isOperator ? callApi('/budget/calls', { signal }) : undefined),
    [isOperator],
    { everyMs: 12 * EVERY_MS },
  )
  return html`<${Loaded} of=${status}>${(/** @type {any} */ data) => html`
    <div class="cards">
      <${RoutesCard} status=${data} />
      <${FaresCard} status=${data} mayWatch=${caller.reseller !== null} />
      ${data.detectionDelays && html`<${DelayCard} delays=${data.detectionDelays} />`}
      <${UpstreamCard} status=${data} />
      ${data.budget && html`<${BudgetCard} budget=${data.budget} calls=${calls.data} />`}
      <${HeldCard} status=${data} isOperator=${isOperator} />
      <${IncidentsCard} incidents=${data.incidents} />
    </div>
    <p class="muted small">${texts.now.versions(data.versions.farewatch, data.versions.schema, data.versions.postgresql)} <${Clock} at=${data.at} /></p>
  `}<//>`
}

/** @param {{ status: any }} props */
function RoutesCard({ status: { lists, at } }) {
  const routes = lists.find((/** @type {any} */ list) => list.list === 'routes')
  const late = lists.filter((/** @type {any} */ list) =>
    ['late', 'failing'].includes(judgeList(list, Date.parse(at)).state),
  )
  const never = routes.lastSuccessAt === null
  const level = late.length > 0 ? 'bad' : never ? 'idle' : 'good'
  const sentence =
    late.length > 0
      ? texts.now.late(late.map((/** @type {any} */ list) => list.list))
      : never
        ? texts.now.noRoutes
        : html`${texts.now.fetched} <${Age} at=${routes.lastSuccessAt} />.`
  return html`<${Card} title=${texts.now.routes} level=${level} sentence=${sentence}
    help=${level === 'bad' && html`<code>bin/farewatch doctor</code> ${texts.now.lateHelp}`}>
    <div class="figures">
      ${lists.map(
        (/** @type {any} */ list) =>
          html`<${Figure} label=${texts.now.nextFetch(list.list)}><${Age} at=${list.nextDueAt} /><//>`,
      )}
    </div>
  <//>`
}

/** @param {{ status: any, mayWatch: boolean }} props */
function FaresCard({ status: { beliefs }, mayWatch }) {
  const { fares, stale, unanswered, ageSeconds } = beliefs
  if (fares === 0) {
    return html`<${Card} title=${texts.now.fares} level="idle" sentence=${texts.now.noFares}
      help=${mayWatch && html`${texts.now.noFaresHelp} <a href=${linkTo('watches')}>${texts.views.watches}</a>.`} />`
  }
  const bad = stale * 10 > fares
  const level = bad ? 'bad' : stale + unanswered > 0 ? 'warn' : 'good'
  const sentence =
    stale > 0
      ? texts.now.stale(texts.count(stale, 'fare'), fares.toLocaleString(), stale === 1)
      : unanswered > 0
        ? texts.now.unanswered(texts.count(unanswered, 'fare'), fares.toLocaleString())
        : texts.now.checked(texts.count(fares, 'fare'), durationText(ageSeconds.p50))
  return html`<${Card} title=${texts.now.fares} level=${level} sentence=${sentence}
    help=${bad && html`${texts.now.staleHelp} <code>UPSTREAM_REQUESTS_PER_SECOND</code>.`}>
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

/** How late the changes of the last day were detected. @param {{ delays: any[] }} props */
function DelayCard({ delays }) {
  const all = delays.find(({ priority }) => priority === 'all')
  if (!all) {
    return html`<${Card} title=${texts.now.delay} level="idle" sentence=${texts.now.noDelay} />`
  }
  const { p50, p95 } = all.midpointSeconds
  // With one priority its figures are those of all changes.
  const shown = delays.length > 2 ? delays : [all]
  return html`<${Card} title=${texts.now.delay} level="good"
    sentence=${texts.now.delays(texts.count(all.changes, 'change'), shortText(p50), shortText(p95))}>
    <div class="figures">
      ${shown.map(
        ({ priority, midpointSeconds }) => html`
        <${Figure} label=${texts.now.p50(texts.priority(priority))}>${shortText(midpointSeconds.p50)}<//>
        <${Figure} label=${texts.now.p95(texts.priority(priority))}>${shortText(midpointSeconds.p95)}<//>`,
      )}
      <${Figure} label=${texts.now.atMost}>${shortText(all.atMostSeconds.p95)}<//>
    </div>
  <//>`
}

/** A delay may be below a second. @param {number} seconds */
const shortText = (seconds) => (seconds < 10 ? `${seconds.toFixed(1)} s` : durationText(seconds))

/** @param {{ status: any }} props */
function UpstreamCard({ status }) {
  const { pausedUntil, openBreakers } = status.upstream
  const [first] = openBreakers
  const { state, level, silentShare } = judgeUpstream(status)
  const sentence = {
    failing: () =>
      html`${texts.now.failing(first.endpoint)} <${Clock} at=${first.since} />${first.cause && ` (${first.cause})`}. ${texts.now.probes}`,
    paused: () => html`${texts.now.paused} <${Clock} at=${pausedUntil} />.`,
    silent: () => texts.now.silent(texts.percent(silentShare)),
    unknown: () => texts.now.notAsked,
    good: () => texts.now.well,
  }[state]()
  return html`<${Card} title=${texts.now.upstream} level=${level} sentence=${sentence}
    help=${['failing', 'silent'].includes(state) && html`<code>bin/farewatch upstream probe</code> ${texts.now.probeHelp}`} />`
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

/** @param {{ budget: any, calls: any }} props */
function BudgetCard({ budget, calls }) {
  const { requestsPerSecond, share, used, checksLastMinute } = budget
  const level = share < 1 ? 'warn' : 'good'
  const sentence =
    share === 0
      ? texts.now.callsPaused
      : share < 1
        ? texts.now.limited(texts.percent(share), requestsPerSecond)
        : texts.now.used(texts.percent(used), requestsPerSecond)
  return html`<${Card} title=${texts.now.budget} level=${level} sentence=${sentence} help=${usersOf(calls)}>
    <${Meter} share=${used} label=${texts.percent(used)} />
    <div class="figures">
      <${Figure} label=${texts.now.checks}>${checksLastMinute.toLocaleString()}<//>
      <${Figure} label=${texts.now.unknown}>${texts.percent(silentShareOf(budget))}<//>
    </div>
  <//>`
}

/** @param {{ status: any, isOperator: boolean }} props */
function HeldCard({ status: { heldRuns }, isOperator }) {
  const [first] = heldRuns
  const lists = texts.count(heldRuns.length, 'list')
  const sentence = first
    ? texts.now.heldLists(lists, heldRuns.length === 1, first.reason?.text ?? texts.now.heldReason)
    : texts.now.nothingHeld
  return html`<${Card} title=${texts.now.held} level=${first ? 'warn' : 'good'} sentence=${sentence}
    help=${first && isOperator && html`<a href=${linkTo('runs', String(first.runId))}>${texts.now.review(first.runId)}</a>`} />`
}

/** @param {{ incidents: any[] }} props */
function IncidentsCard({ incidents }) {
  const [first] = incidents
  const sentence = first
    ? html`${textOf(texts.now.incidentKinds, first.kind)}, ${texts.now.since} <${Clock} at=${first.openedAt} />. ${texts.now.incidentEffect}`
    : texts.now.noIncident
  return html`<${Card} title=${texts.now.incidents} level=${first ? 'bad' : 'good'} sentence=${sentence}
    help=${first && html`<code>bin/farewatch incidents list</code> ${texts.now.incidentHelp} <a href="/docs/runbooks">${texts.now.runbook}</a>.`} />`
}
