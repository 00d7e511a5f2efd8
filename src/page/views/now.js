/**
 * @import { Status, StatusHistory } from '../api-types.ts'
 * @import { Resource } from '../hooks.js'
 *
 * @typedef {StatusHistory & { first: number, span: string, inSpan: string }} History with its first known step, its hours, and those as words
 */
import { useState } from 'preact/hooks'
import { Chart } from '../chart.js'
import { linkTo, useAnswer } from '../hooks.js'
import { Badge, Card, Figure, html, loaded, Segments } from '../parts.js'
import { useChanges } from '../recent-changes.js'
import { caller } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText, shortText } from '../times.js'
import { Warning, warningsAbout, warningsOfList } from '../warnings.js'
import { ChangeList, divided } from './changes.js'

const t = texts.now

/** Many routes may change at once: fares must not disappear among them. */
const READ = 50
const SHOWN = 7

/** What is not well, what changed last, and how fresh and reliable everything is. */
export function NowView() {
  const status = useAnswer('/status', 5_000)
  const { history, setHours } = useHistory()
  return loaded(
    status,
    (data) => html`
    <${Banner} status=${data} />
    <${PlannedPauses} pauses=${data.pauses} />
    ${data.demo?.historySince && html`<p class="muted">For the demo, the history was made up until <${Clock} at=${data.demo.historyUntil} />.</p>`}
    <div class="tiles">
      <${FaresCard} status=${data} />
      ${history.data && html`<${DelayTile} history=${history.data} status=${data} />`}
      <${DeliveriesCard} status=${data} />
      <${HeldCard} status=${data} />
    </div>
    <${LastChanges} />
    ${loaded(
      history,
      (read) => html`
      <${HistoryCards} history=${read} status=${data} onHours=${setHours}>
        <${UpstreamCard} status=${data} />
        ${data.processes && html`<${WorkCard} status=${data} processes=${data.processes} queue=${data.queue} />`}
      <//>`,
    )}
    <p class="muted small">${t.versions(data.versions.farewatch, data.versions.schema, data.versions.postgresql)} <${Clock} at=${data.at} /></p>
  `,
  )
}

/** All warnings in one place, or that there are none. @param {{ status: Status }} props */
function Banner({ status }) {
  const { warnings } = status
  const [worst] = warnings
  if (worst === undefined) {
    return html`<p class="banner good"><${Badge} level="good">All is well.<//></p>`
  }
  return html`<ul class="banner ${worst.level}" aria-label="What is not well">
    ${warnings.map((warning) => html`<li><${Warning} warning=${warning} status=${status} /></li>`)}
  </ul>`
}

/** What operators will stop: a pause that runs is a warning. @param {{ pauses: Status['pauses'] }} props */
function PlannedPauses({ pauses }) {
  return pauses
    .filter(({ running }) => !running)
    .map(
      ({ what, from, until, reason }) =>
        html`<p class="banner idle"><span>${textOf(t.planned, what)} <${Clock} at=${from} /> ${until === null ? 'until it is resumed' : html`${t.until} <${Clock} at=${until} />`}${reason && `: ${reason}`}.</span></p>`,
    )
}

/** Fares and routes apart: many routes may change at once. */
function LastChanges() {
  const changes = useChanges(READ)
  return loaded(
    changes,
    (items) => html`<div class="last-changes">
    ${Object.entries(divided(items)).map(
      ([about, some]) =>
        (about === 'fares' || some.length > 0) &&
        html`<section>
        <div class="row"><h2>${t.last[about]}</h2><a href=${linkTo('changes')}>All changes</a></div>
        ${
          some.length === 0
            ? html`<p class="muted">${texts.changes.empty.join(' ')}</p>`
            : html`<${ChangeList} changes=${some.slice(0, SHOWN)} />`
        }
      </section>`,
    )}</div>`,
  )
}

/** @param {{ status: Status }} props */
function FaresCard({ status }) {
  const { fares, ageSeconds } = status.beliefs
  if (fares === 0) {
    return html`<${Card} title=${t.fares} level="idle" sentence="No fare is watched yet."
      help=${caller.reseller !== null && html`Add some under <a href=${linkTo('watches')}>${texts.views.watches}</a>.`} />`
  }
  const sentence = t.checked(texts.count(fares, 'fare'), durationText(ageSeconds?.p50 ?? 0))
  const help =
    ageSeconds && t.oldestAges(durationText(ageSeconds.p90), durationText(ageSeconds.max))
  return html`<${Card} warnings=${warningsAbout(status, 'fares')} level="good" title=${t.fares} sentence=${sentence} help=${help}
    figure=${ageSeconds ? durationText(ageSeconds.p50) : texts.none} />`
}

/** @param {{ status: Status }} props */
function DeliveriesCard({ status }) {
  const { pending, endpoints, oldestPendingAt, disabled } = status.deliveries
  const enabled = endpoints.healthy + endpoints.busy + endpoints.failing
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0)
  const link = caller.reseller !== null && html`<a href=${linkTo('deliveries')}>${t.endpoints}</a>`
  if (enabled + off === 0) {
    return html`<${Card} title=${t.deliveries} level="idle" sentence="No endpoint receives changes yet." help=${link} />`
  }
  return html`<${Card} warnings=${warningsAbout(status, 'deliveries')} level="good" title=${t.deliveries} sentence=${t.delivered(texts.count(enabled, 'endpoint'))}
    figure=${html`${pending.toLocaleString()} <small>pending</small>`}
    help=${html`${oldestPendingAt && html`The oldest: <${Age} at=${oldestPendingAt} />`} ${link}`} />`
}

/** @param {{ status: Status }} props */
function UpstreamCard({ status }) {
  const { budget } = status
  const isKnown =
    status.beliefs.ageSeconds !== null || status.lists.some((list) => list.lastSuccessAt !== null)
  return html`<${Card} warnings=${warningsAbout(status, 'upstream', 'budget')} title="Is the upstream well?"
    level=${isKnown ? 'good' : 'idle'} sentence=${isKnown ? 'Yes. It answers.' : 'No call has had an answer yet.'}>
    ${
      budget &&
      html`<p class="muted small">${t.used(texts.percent(budget.used), budget.requestsPerSecond)}</p>`
    }
  <//>`
}

/** What waits, and until when: lists, changes of a mass, and fares that their last answer contradicts. @param {{ status: Status }} props */
function HeldCard({ status }) {
  const { heldRuns, contradicted } = status
  const waiting = warningsAbout(status, 'held', 'incidents')
  const [first] = waiting
  const count = contradicted?.fares
  const contradicts = count && t.contradicted(texts.count(count, 'fare'), count === 1)
  const sentence = first
    ? t.held(waiting.length)
    : contradicts || 'No. Nothing is held or contradicted.'
  return html`<${Card} title="Does anything wait?" level=${first?.level ?? 'good'} sentence=${sentence}
    figure=${(waiting.length || count || 0).toLocaleString()}>
    <ul class="plain-list">
      ${heldRuns.map(
        ({ runId, releasableAt }) =>
          html`<li class="muted">${
            releasableAt
              ? html`${t.releasable(runId)} <${Clock} at=${releasableAt} />.`
              : t.notReleasable(runId)
          }</li>`,
      )}
      ${
        contradicted &&
        html`<li class="muted">${first && `${contradicts} `}
          ${contradicted.waits.map(
            ({ wait, fares, since }) =>
              html`${fares.toLocaleString()} ${textOf(t.waits, wait)} <${Clock} at=${since} />. `,
          )}
          ${contradicted.until && html`The last second check comes <${Age} at=${contradicted.until} past=${texts.time.now} />.`}</li>`
      }
    </ul>
  <//>`
}

/** @param {{ status: Status, processes: NonNullable<Status['processes']>, queue: NonNullable<Status['queue']> }} props */
function WorkCard({ status, processes, queue: { lastTick, queues } }) {
  const sentence = t.works(texts.count(processes.length, 'process', 'processes'))
  const jobs = (/** @type {'waiting' | 'active' | 'dead'} */ state) =>
    total(queues.map((one) => one[state]))
  return html`<${Card} warnings=${warningsAbout(status, 'work')} level="good" title="Do the workers work?" sentence=${sentence}>
    <div class="figures">
      ${lastTick && html`<${Figure} label="last tick"><${Age} at=${lastTick.at} /><//>`}
      <${Figure} label="jobs">${(jobs('waiting') + jobs('active')).toLocaleString()}<//>
      <${Figure} label="dead jobs">${jobs('dead').toLocaleString()}<//>
    </div>
  <//>`
}

const FEWEST_STEPS = 12

/**
 * The history of the last hours, with the hours that it spans.
 * @returns {{ history: Resource<History>, setHours: (hours: string) => void }}
 */
function useHistory() {
  const [hours, setHours] = useState('')
  const read = useAnswer(`/status/history?${hours && `hours=${hours}`}`, 30_000)
  return { history: { ...read, data: read.data && spanned(read.data) }, setHours }
}

/** @param {StatusHistory} history @returns {History} */
function spanned(history) {
  const span = String((Date.parse(history.until) - Date.parse(history.since)) / 3_600_000)
  return { ...history, first: firstKnown(history), span, inSpan: textOf(t.inSpan, span) }
}

/**
 * Lines over the last hours, each with its sentence, and the cards below them.
 * @param {{ history: History, status: Status, onHours: (hours: string) => void, children?: unknown }} props
 */
function HistoryCards({ history, status, onHours, children }) {
  return html`<section class="history" aria-label=${t.history}>
    <div class="row"><h2>${t.history}</h2>
      <${Segments} label=${t.history} names=${t.spans} chosen=${history.span} onChoose=${onHours} /></div>
    <div class="history-cards">
      <${ChangesCard} history=${history} />
      ${history.beliefs && html`<${AgesCard} history=${history} beliefs=${history.beliefs} status=${status} />`}
      <${ListsCard} history=${history} status=${status} />
      ${history.checks && html`<${ChecksCard} history=${history} checks=${history.checks} status=${status} />`}
      ${children}
    </div>
  </section>`
}

/** The first step since farewatch has fetched a list: nothing is known of the time before. @param {StatusHistory} history */
function firstKnown({ lists }) {
  const ages = lists[0]?.ageSeconds ?? []
  const first = ages.findIndex((age) => age !== null)
  return Math.max(0, Math.min(first, ages.length - FEWEST_STEPS))
}

/** What changed, from good to bad, each with the colour of its bars. */
const TONES = [
  { name: t.changes.gained, tone: 'good', kinds: ['became_available'] },
  { name: t.changes.lost, tone: 'bad', kinds: ['became_unavailable'] },
  { name: t.changes.priced, tone: 'warn', kinds: ['price_changed'] },
  { name: t.changes.others, tone: 'idle', kinds: null },
]
const NAMED = TONES.flatMap(({ kinds }) => kinds ?? [])

/** @param {{ history: History }} props */
function ChangesCard({ history }) {
  const series = TONES.map(({ name, tone, kinds }) => ({
    name,
    tone,
    values: summed(
      history.fares
        .filter(({ kind }) => kinds?.includes(kind) ?? !NAMED.includes(kind))
        .map(({ counts }) => counts),
    ),
  }))
  const [added, removed] = [total(history.routes.added), total(history.routes.removed)]
  const all = series.reduce((sum, { values }) => sum + total(values), 0)
  const parts = series
    .map(({ name, values }) => ({ name, n: total(values) }))
    .filter(({ n }) => n > 0)
    .map(({ name, n }) => `${n.toLocaleString()} ${name}`)
  const sentence =
    all === 0
      ? t.noChanges(history.inSpan)
      : t.changed(texts.count(all, 'change'), history.inSpan, parts.join(', '))
  return html`<${Card} title="What changed?" sentence=${sentence}
    help=${added + removed > 0 && t.routesChanged(texts.count(added, 'route'), removed.toLocaleString())}>
    <${Chart} kind="bars" series=${series} span=${history} format=${whole} label=${sentence} />
  <//>`
}

/** @param {readonly (number | null)[]} values */
function total(values) {
  return values.reduce((/** @type {number} */ sum, value) => sum + (value ?? 0), 0)
}

/** @param {readonly (number | null)[]} values */
function most(values) {
  return Math.max(...values.map(Number))
}

/** @param {(readonly number[])[]} rows */
function summed(rows) {
  return (rows[0] ?? []).map((_, step) => rows.reduce((sum, row) => sum + (row[step] ?? 0), 0))
}

/** @param {number} n */
const whole = (n) => n.toLocaleString()

/** How late the changes of the span were detected. @param {{ history: History, status: Status }} props */
function DelayTile({ history: { delaySeconds, inSpan }, status }) {
  const { all } = delaySeconds
  const sentence =
    all === null
      ? t.noDelay(inSpan)
      : t.delays(texts.count(all.changes, 'change'), inSpan, shortText(all.p95))
  return html`<${Card} warnings=${warningsAbout(status, 'delay')} title="How soon are changes detected?" level=${all === null ? 'idle' : 'good'}
    figure=${all === null ? texts.none : shortText(all.p50)} sentence=${sentence} />`
}

/** @param {{ history: History, beliefs: NonNullable<History['beliefs']>, status: Status }} props */
function AgesCard({ history, beliefs: { p50, p90, staleShare }, status }) {
  const { inSpan } = history
  const isKnown = p50.some((age) => age !== null)
  const sentence = isKnown ? t.ages(inSpan, durationText(most(p90))) : t.noAges(inSpan)
  const stale = most(staleShare)
  const series = [
    { name: '90\u00A0% within', tone: 'second', values: p90 },
    { name: 'half within', tone: 'first', values: p50 },
  ]
  return html`<${Card} warnings=${warningsAbout(status, 'fares')} title="How long ago were the fares checked?" level=${isKnown ? 'good' : 'idle'} sentence=${sentence}
    help=${stale > 0 && t.stale(texts.percent(stale), inSpan)}>
    <${Chart} kind="lines" series=${series} span=${history} format=${durationText} label=${sentence} />
  <//>`
}

/** @param {{ history: History, status: Status }} props */
function ListsCard({ history, status }) {
  const { lists } = status
  const warnings = lists.flatMap(({ list }) => warningsOfList(status, list))
  const routes = lists.find(({ list }) => list === 'routes')
  const sentence = html`Yes. The routes were fetched <${Age} at=${routes?.lastSuccessAt} none=${texts.never} />.`
  const series = history.lists.map(({ list, ageSeconds }) => ({
    name: list,
    tone: list === 'routes' ? 'first' : 'second',
    values: ageSeconds,
  }))
  return html`<${Card} title="Are the routes fresh?" level="good" warnings=${warnings} sentence=${sentence}>
    <${Chart} kind="lines" series=${series} span=${history} format=${durationText} label="The age of each list of routes" />
  <//>`
}

/** @param {{ history: History, checks: NonNullable<History['checks']>, status: Status }} props */
function ChecksCard({ history, checks: { made, unknown }, status: { budget } }) {
  const { stepMinutes } = history
  const perMinute = (/** @type {number} */ n) => Math.round((10 * n) / stepMinutes) / 10
  const series = [
    {
      name: 'checks a minute',
      tone: 'first',
      values: made.map((n, i) => perMinute(n - (unknown[i] ?? 0))),
    },
    { name: 'without a good answer', tone: 'bad', values: unknown.map(perMinute) },
  ]
  const silent = total(unknown)
  const sentence = t.checksMade(
    whole(budget?.checksLastMinute ?? 0),
    silent === 0 ? null : texts.percent(silent / total(made)),
  )
  return html`<${Card} title="How much is checked?" sentence=${sentence}>
    <${Chart} kind="bars" series=${series} span=${history} format=${whole} label=${sentence} />
  <//>`
}
