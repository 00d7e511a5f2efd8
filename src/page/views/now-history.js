import { useState } from 'preact/hooks'
import { Chart } from '../chart.js'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Card, Segments } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText, shortText } from '../times.js'
import { Judged, warningsOfList } from '../warnings.js'

const EVERY_MS = 30_000
const FEWEST_STEPS = 12

/**
 * The history of the last hours, with the hours that it spans.
 * @returns {{ history: import('../hooks.js').Resource<any>, setHours: (hours: string) => void }}
 */
export function useHistory() {
  const [hours, setHours] = useState('')
  const read = useResource(
    (signal) => callApi(`/status/history${hours === '' ? '' : `?hours=${hours}`}`, { signal }),
    [hours],
    { everyMs: EVERY_MS },
  )
  const { data } = read
  const history = data && {
    ...data,
    first: firstKnown(data),
    span: String((Date.parse(data.until) - Date.parse(data.since)) / 3_600_000),
  }
  return { history: { ...read, data: history }, setHours }
}

/**
 * Lines over the last hours, each with its sentence, and the cards below them.
 * @param {{ history: any, status: any, onHours: (hours: string) => void, children?: unknown }} props
 */
export function HistoryCards({ history, status, onHours, children }) {
  const { span } = history
  return html`<section class="history" aria-label=${texts.now.history}>
    <div class="row"><h2>${texts.now.history}</h2>
      <${Segments} label=${texts.now.history} names=${texts.now.spans} chosen=${span} onChoose=${onHours} /></div>
    <div class="history-cards">
      <${ChangesCard} history=${history} span=${span} />
      ${history.beliefs && html`<${AgesCard} history=${history} status=${status} span=${span} />`}
      <${ListsCard} history=${history} status=${status} />
      ${history.checks && html`<${ChecksCard} history=${history} status=${status} />`}
      ${children}
    </div>
  </section>`
}

/** The first step since farewatch has fetched a list: nothing is known of the time before. @param {any} history */
function firstKnown({ lists }) {
  const [{ ageSeconds }] = lists
  const first = ageSeconds.findIndex((/** @type {number | null} */ age) => age !== null)
  return Math.max(0, Math.min(first, ageSeconds.length - FEWEST_STEPS))
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

/** How late the changes of the span were detected. @param {{ history: any, status: any, span: string }} props */
export function DelayTile({ history, status, span }) {
  const { all } = history.delaySeconds
  return html`<${Judged} status=${status} about=${['delay']} title=${texts.now.delay} level=${all === null ? 'idle' : 'good'}
    figure=${all === null ? texts.none : shortText(all.p50)} sentence=${delaySentence(all, inSpan(span))} />`
}

/** @param {any} all the changes of the span; null without any. @param {string} span */
function delaySentence(all, span) {
  return all === null
    ? texts.now.noDelay(span)
    : texts.now.delays(texts.count(all.changes, 'change'), span, shortText(all.p95))
}

/** @param {{ history: any, status: any, span: string }} props */
function AgesCard({ history, status, span }) {
  const { p50, p90, staleShare } = history.beliefs
  const isKnown = p50.some((/** @type {number | null} */ age) => age !== null)
  const sentence = isKnown
    ? texts.now.ages(inSpan(span), durationText(Math.max(...p90)))
    : texts.now.noAges(inSpan(span))
  const stale = Math.max(...staleShare)
  const series = [
    { name: texts.now.oldestTenth, tone: 'second', values: p90 },
    { name: texts.now.medianAge, tone: 'first', values: p50 },
  ]
  return html`<${Judged} status=${status} about=${['fares']} title=${texts.now.agesTitle} level=${isKnown ? 'good' : 'idle'} sentence=${sentence}
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
