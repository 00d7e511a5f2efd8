import { useState } from 'preact/hooks'
import { Chart } from '../chart.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Card, Figure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText, shortText } from '../times.js'
import { warningsAbout, warningsOfList } from '../warnings.js'

const EVERY_MS = 30_000
const SPANS = ['1', '6', '24']

/** Lines over the last hours, each with its sentence. @param {{ status: any }} props */
export function HistoryCards({ status }) {
  const [hours, setHours] = useState('')
  const history = useResource(
    (signal) => callApi(`/status/history${hours === '' ? '' : `?hours=${hours}`}`, { signal }),
    [hours],
    { everyMs: EVERY_MS },
  )
  return html`<${Loaded} of=${history}>${(/** @type {any} */ data) => {
    const span = String((Date.parse(data.until) - Date.parse(data.since)) / 3_600_000)
    return html`<section class="history" aria-label=${texts.now.history}>
      <div class="row"><h2>${texts.now.history}</h2>
        <div class="choices" role="group" aria-label=${texts.now.history}>${SPANS.map(
          (one) =>
            html`<button type="button" aria-pressed=${one === span} onClick=${() => setHours(one)}>${texts.now.spans[one]}</button>`,
        )}</div></div>
      <div class="history-cards">
        <${ChangesCard} history=${data} span=${span} />
        <${DelayCard} history=${data} status=${status} span=${span} />
        ${data.beliefs && html`<${AgesCard} history=${data} status=${status} span=${span} />`}
        <${ListsCard} history=${data} status=${status} />
        ${data.checks && html`<${ChecksCard} history=${data} status=${status} />`}
      </div>
    </section>`
  }}<//>`
}

/** What changed, from good to bad, each with the colour of its bars. */
const TONES = [
  { name: texts.now.changes.gained, tone: 'good', kinds: ['became_available'] },
  { name: texts.now.changes.lost, tone: 'bad', kinds: ['became_unavailable'] },
  { name: texts.now.changes.priced, tone: 'warn', kinds: ['price_changed'] },
  { name: texts.now.changes.others, tone: 'idle', kinds: null },
]
const NAMED = TONES.flatMap(({ kinds }) => kinds ?? [])

/** @param {{ history: any, span: string }} props */
function ChangesCard({ history, span }) {
  const series = TONES.map(({ name, tone, kinds }) => ({
    name,
    tone,
    values: summed(
      history.fares
        .filter((/** @type {any} */ { kind }) => kinds?.includes(kind) ?? !NAMED.includes(kind))
        .map((/** @type {any} */ { counts }) => counts),
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
      ? texts.now.noChanges(inSpan(span))
      : texts.now.changed(texts.count(all, 'change'), inSpan(span), parts.join(', '))
  return html`<${Card} title=${texts.now.changesTitle} sentence=${sentence}
    help=${added + removed > 0 && texts.now.routesChanged(texts.count(added, 'route'), removed.toLocaleString())}>
    <${Chart} kind="bars" series=${series} span=${history} format=${whole} label=${sentence} />
  <//>`
}

/** @param {string} span in hours */
function inSpan(span) {
  return textOf(texts.now.inSpan, span)
}

/** @param {readonly (number | null)[]} values */
function total(values) {
  return values.reduce((/** @type {number} */ sum, value) => sum + (value ?? 0), 0)
}

/** @param {number[][]} rows */
function summed(rows) {
  return (rows[0] ?? []).map((_, step) => rows.reduce((sum, row) => sum + (row[step] ?? 0), 0))
}

/** @param {number} n */
const whole = (n) => n.toLocaleString()

/** @param {{ history: any, status: any, span: string }} props */
function DelayCard({ history: { delaySeconds, since, until }, status, span }) {
  const { p50, p95, all } = delaySeconds
  const [warning] = warningsAbout(status, 'delay')
  const sentence = warning?.text ?? delaySentence(all, inSpan(span))
  const level = warning?.level ?? (all === null ? 'idle' : 'good')
  const groups = (status.detectionDelays ?? []).slice(1)
  const series = [
    { name: texts.now.slowest, tone: 'second', values: p95 },
    { name: texts.now.half, tone: 'first', values: p50 },
  ]
  return html`<${Card} title=${texts.now.delay} level=${level} sentence=${sentence}>
    <${Chart} kind="ranges" series=${series} span=${{ since, until }} format=${shortText} label=${sentence} />
    ${
      groups.length > 1 &&
      html`<div class="figures">${groups.map(
        (/** @type {any} */ { priority, midpointSeconds }) =>
          html`<${Figure} label=${texts.now.p50(texts.priority(priority))}>${shortText(midpointSeconds.p50)}<//>`,
      )}</div>`
    }
  <//>`
}

/** @param {any} all the changes of the span; null without any. @param {string} span */
function delaySentence(all, span) {
  if (all === null) return texts.now.noDelay(span)
  const { changes, waiting } = all
  const [half, most] = [shortText(all.p50), shortText(all.p95)]
  const delays =
    changes === 1
      ? texts.now.delayOfOne(span, half)
      : texts.now.delays(texts.count(changes, 'change'), span, half, most)
  return waiting === 0 ? delays : `${delays} ${texts.now.waiting(whole(waiting), waiting === 1)}`
}

/** @param {{ history: any, status: any, span: string }} props */
function AgesCard({ history, status, span }) {
  const { p50, p90, staleShare } = history.beliefs
  const [warning] = warningsAbout(status, 'fares')
  const isKnown = p50.some((/** @type {number | null} */ age) => age !== null)
  const sentence =
    warning?.text ??
    (isKnown
      ? texts.now.ages(inSpan(span), durationText(Math.max(...p90)))
      : texts.now.noAges(inSpan(span)))
  const level = warning?.level ?? (isKnown ? 'good' : 'idle')
  const stale = Math.max(...staleShare)
  const series = [
    { name: texts.now.oldestTenth, tone: 'second', values: p90 },
    { name: texts.now.medianAge, tone: 'first', values: p50 },
  ]
  return html`<${Card} title=${texts.now.agesTitle} level=${level} sentence=${sentence}
    help=${stale > 0 && texts.now.stale(texts.percent(stale), inSpan(span))}>
    <${Chart} kind="lines" series=${series} span=${history} format=${durationText} label=${sentence} />
  <//>`
}

/** @param {{ history: any, status: any }} props */
function ListsCard({ history, status }) {
  const { lists } = status
  const [warning] = lists.flatMap((/** @type {any} */ { list }) => warningsOfList(status, list))
  const { lastSuccessAt } = lists.find((/** @type {any} */ { list }) => list === 'routes')
  const sentence =
    warning?.text ?? html`${texts.now.fetched} <${Age} at=${lastSuccessAt} none=${texts.never} />.`
  const series = history.lists.map((/** @type {any} */ { list, ageSeconds }) => ({
    name: list,
    tone: list === 'routes' ? 'first' : 'second',
    values: ageSeconds,
  }))
  return html`<${Card} title=${texts.now.routes} level=${warning?.level ?? 'good'} sentence=${sentence}>
    <${Chart} kind="lines" series=${series} span=${history} format=${durationText} label=${texts.now.listAges} />
    <div class="figures">${lists.map(
      (/** @type {any} */ { list, nextDueAt }) =>
        html`<${Figure} label=${texts.now.nextFetch(list)}><${Age} at=${nextDueAt} /><//>`,
    )}</div>
  <//>`
}

/** @param {{ history: any, status: any }} props */
function ChecksCard({ history, status: { budget } }) {
  const { made, unknown } = history.checks
  const { stepMinutes } = history
  const perMinute = (/** @type {number} */ n) => Math.round((10 * n) / stepMinutes) / 10
  const series = [
    {
      name: texts.now.good,
      tone: 'first',
      values: made.map((/** @type {number} */ n, /** @type {number} */ i) =>
        perMinute(n - unknown[i]),
      ),
    },
    { name: texts.now.unknown, tone: 'bad', values: unknown.map(perMinute) },
  ]
  const silent = total(unknown)
  const sentence = texts.now.checksMade(
    whole(budget?.checksLastMinute ?? 0),
    silent === 0 ? null : texts.percent(silent / total(made)),
  )
  return html`<${Card} title=${texts.now.checks} sentence=${sentence}>
    <${Chart} kind="bars" series=${series} span=${history} format=${whole} label=${sentence} />
  <//>`
}
