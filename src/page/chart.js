import { useState } from 'preact/hooks'
import { useSize } from './hooks.js'
import { html } from './parts.js'
import { texts } from './texts.js'
import { axisText } from './times.js'

const HEIGHT = 92
const TALL = 180
/** Above the tallest value and below the baseline. */
const TOP = 14
const BOTTOM = 1

/**
 * Values of equal steps, the oldest first. `tone` names its colour in styles/base.css. A null is a gap of a line.
 * @typedef {{ name: string, tone: string, values: readonly (number | null)[] }} Series
 */

const DRAWN = { lines: Lines, bars: Bars }

/**
 * Lines or stacked bars over the steps of a span. Pointing at a step shows its time and
 * values.
 * @param {{ series: readonly Series[], kind: keyof typeof DRAWN, span: { since: string | number, until: string | number, first?: number },
 *   format: (value: number) => string, label: string, isFitted?: boolean }} props `first`: the step before which nothing is known; `isFitted`: it shows the range of the values alone
 */
export function Chart({ series: all, kind, span, format, label, isFitted = false }) {
  const [ref, { width }] = useSize()
  const [at, setAt] = useState(-1)
  const first = span.first ?? 0
  const series = all.map((one) => ({ ...one, values: one.values.slice(first) }))
  const until = Number(new Date(span.until))
  const begin = Number(new Date(span.since))
  const since = begin + ((until - begin) * first) / (all[0]?.values.length || 1)
  const steps = series[0]?.values.length ?? 0
  const totals = Array.from({ length: steps }, (_, i) =>
    kind === 'bars'
      ? series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[i] ?? 0)),
  )
  const most = Math.max(...totals, 0)
  const height = isFitted ? TALL : HEIGHT
  const range = isFitted ? rangeOf(totals.filter(Boolean)) : { low: 0, most: most || 1 }
  const scale = { steps, width, height, top: TOP, ...range }
  const { low } = scale
  const point = (/** @type {MouseEvent & { currentTarget: Element }} */ event) => {
    const { left } = event.currentTarget.getBoundingClientRect()
    const step = Math.floor(((event.clientX - left) / width) * steps)
    setAt(Math.min(steps - 1, Math.max(0, step)))
  }
  const timeOf = (/** @type {number} */ step) =>
    timeText(since + ((until - since) * (step + 1)) / steps)
  const timeText = (/** @type {number} */ ms) => axisText(ms, (until - since) / 3)
  const floor = height - BOTTOM
  return html`<figure class="chart" ref=${ref}>
    <svg width=${width} height=${height} role="img" aria-label=${label}
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setAt(-1)}>
      <line class="grid" x1="0" x2=${width} y1=${TOP} y2=${TOP} />
      <line class="grid" x1="0" x2=${width} y1=${floor} y2=${floor} />
      <${DRAWN[kind]} series=${series} scale=${scale} />
      ${most > 0 && html`<text x="0" y=${floor - heightOf(most, scale) - 4}>${format(most)}</text>`}
      ${low > 0 && html`<text x="0" y=${floor - 4}>${format(low)}</text>`}
      ${at >= 0 && html`<line class="cursor" x1=${xOf(at, scale)} x2=${xOf(at, scale)} y1=${TOP} y2=${height} />`}
    </svg>
    <figcaption>${
      at < 0
        ? html`<span>${timeText(since)}</span><span>${timeText((since + until) / 2)}</span><span>${timeText(until)}</span>`
        : html`<span><strong>${timeOf(at)}</strong> ${valuesAt(series, at, format)}</span>`
    }</figcaption>
    ${series.length > 1 && html`<p class="keys">${series.map(({ name, tone }) => html`<span><i class=${tone}></i>${name}</span>`)}</p>`}
  </figure>`
}

/** @param {readonly Series[]} series @param {number} step @param {(value: number) => string} format */
function valuesAt(series, step, format) {
  const known = series.flatMap(({ name, values }) => {
    const value = values[step]
    return value === null || value === undefined || value === 0 ? [] : [`${name}: ${format(value)}`]
  })
  return known.length === 0 ? texts.none : known.join(', ')
}

/** @typedef {{ steps: number, width: number, height: number, top: number, low: number, most: number }} Scale */

/** The range of values. A single one lies in the middle. @param {readonly (number | null)[]} values */
export function rangeOf(values) {
  const known = values.filter((value) => value !== null)
  const [low, most] = [Math.min(...known), Math.max(...known)]
  return low < most ? { low, most } : { low: 0, most: 2 * most }
}

/**
 * What held at the end of each step of a span.
 * @template {{ validFrom: string, validTo: string | null }} Interval
 * @param {readonly Interval[]} intervals
 * @param {{ since: number, until: number, steps: number }} span
 */
export function sampled(intervals, { since, until, steps }) {
  return Array.from({ length: steps }, (_, step) => {
    const at = since + ((until - since) * (step + 1)) / steps
    return intervals.find(
      ({ validFrom, validTo }) =>
        Date.parse(validFrom) <= at && (validTo === null || at < Date.parse(validTo)),
    )
  })
}

/** The middle of a step. @param {number} step @param {Scale} scale */
function xOf(step, { steps, width }) {
  return ((step + 0.5) * width) / steps
}

/** @param {number} value @param {Scale} scale */
function heightOf(value, { height, top, low, most }) {
  return ((height - top - BOTTOM) * (value - low)) / (most - low)
}

/** @param {{ series: readonly Series[], scale: Scale }} props */
function Bars({ series, scale }) {
  const { steps, width, height: whole } = scale
  const bar = Math.max(1, (0.8 * width) / steps)
  const below = new Array(steps).fill(whole - BOTTOM)
  return series.map(({ tone, values }) =>
    values.map((value, step) => {
      if (!value) return null
      const height = heightOf(value, scale)
      below[step] -= height
      return html`<rect class=${tone} x=${xOf(step, scale) - bar / 2} y=${below[step]} width=${bar} height=${height} />`
    }),
  )
}

/** A value between two gaps is a dot. @param {{ series: readonly Series[], scale: Scale }} props */
export function Lines({ series, scale }) {
  return series.map(({ tone, values }) => {
    const runs = runsOf(values).map((run) =>
      run.map(({ step, value }) => ({
        x: xOf(step, scale),
        y: scale.height - BOTTOM - heightOf(value, scale),
      })),
    )
    const path = runs.map((run) => `M${run.map(({ x, y }) => `${x} ${y}`).join('L')}`).join('')
    return html`<g class=${tone}><path d=${path} />
      ${runs.filter(({ length }) => length === 1).map(([dot]) => html`<circle cx=${dot?.x} cy=${dot?.y} r="2.5" />`)}</g>`
  })
}

/** The stretches of known values. @param {readonly (number | null)[]} values */
export function runsOf(values) {
  /** @type {{ step: number, value: number }[][]} */
  const runs = []
  values.forEach((value, step) => {
    if (value === null) return
    if (step === 0 || values[step - 1] === null) runs.push([])
    runs.at(-1)?.push({ step, value })
  })
  return runs
}
