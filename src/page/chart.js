import { useState } from 'preact/hooks'
import { useSize } from './hooks.js'
import { html } from './html.js'
import { texts } from './texts.js'
import { minuteText } from './times.js'

const HEIGHT = 92
/** Above the tallest value and below the baseline. */
const TOP = 14
const BOTTOM = 1

/**
 * Values of equal steps, the oldest first. `tone` names its colour in styles/base.css. A null is a gap of a line.
 * @typedef {{ name: string, tone: string, values: readonly (number | null)[] }} Series
 */

const DRAWN = { lines: Lines, bars: Bars, ranges: Ranges }

/**
 * Lines, stacked bars, or the range between two values, over the steps of a span. Pointing at a step shows its time and
 * values.
 * @param {{ series: readonly Series[], kind: keyof typeof DRAWN, span: { since: string, until: string },
 *   format: (value: number) => string, label: string }} props
 */
export function Chart({ series, kind, span, format, label }) {
  const [ref, { width }] = useSize()
  const [at, setAt] = useState(-1)
  const since = Date.parse(span.since)
  const until = Date.parse(span.until)
  const steps = series[0]?.values.length ?? 0
  const totals = Array.from({ length: steps }, (_, i) =>
    kind === 'bars'
      ? series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[i] ?? 0)),
  )
  const most = Math.max(...totals, 0)
  const scale = { steps, width, most: most || 1 }
  const point = (/** @type {any} */ event) => {
    const { left } = event.currentTarget.getBoundingClientRect()
    const step = Math.floor(((event.clientX - left) / width) * steps)
    setAt(Math.min(steps - 1, Math.max(0, step)))
  }
  const timeOf = (/** @type {number} */ step) =>
    minuteText(since + ((until - since) * (step + 1)) / steps)
  return html`<figure class="chart" ref=${ref}>
    <svg width=${width} height=${HEIGHT} role="img" aria-label=${label}
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setAt(-1)}>
      <line class="grid" x1="0" x2=${width} y1=${TOP} y2=${TOP} />
      <line class="grid" x1="0" x2=${width} y1=${HEIGHT - BOTTOM} y2=${HEIGHT - BOTTOM} />
      <${DRAWN[kind]} series=${series} scale=${scale} />
      ${most > 0 && html`<text x="0" y=${TOP - 4}>${format(most)}</text>`}
      ${at >= 0 && html`<line class="cursor" x1=${xOf(at, scale)} x2=${xOf(at, scale)} y1=${TOP} y2=${HEIGHT} />`}
    </svg>
    <figcaption>${
      at < 0
        ? html`<span>${minuteText(since)}</span><span>${minuteText((since + until) / 2)}</span><span>${minuteText(until)}</span>`
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

/** @typedef {{ steps: number, width: number, most: number }} Scale */

/** The middle of a step. @param {number} step @param {Scale} scale */
function xOf(step, { steps, width }) {
  return ((step + 0.5) * width) / steps
}

/** @param {number} value @param {Scale} scale */
function heightOf(value, { most }) {
  return ((HEIGHT - TOP - BOTTOM) * value) / most
}

/** @param {{ series: readonly Series[], scale: Scale }} props */
function Bars({ series, scale }) {
  const { steps, width } = scale
  const bar = Math.max(1, (0.8 * width) / steps)
  const below = new Array(steps).fill(HEIGHT - BOTTOM)
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
function Lines({ series, scale }) {
  return series.map(({ tone, values }) => {
    const runs = runsOf(values).map((run) =>
      run.map(({ step, value }) => ({
        x: xOf(step, scale),
        y: HEIGHT - BOTTOM - heightOf(value, scale),
      })),
    )
    const path = runs.map((run) => `M${run.map(({ x, y }) => `${x} ${y}`).join('L')}`).join('')
    return html`<g class=${tone}><path d=${path} />
      ${runs.filter(({ length }) => length === 1).map(([dot]) => html`<circle cx=${dot?.x} cy=${dot?.y} r="2.5" />`)}</g>`
  })
}

/** For values of single steps: a dot for each, and a line between those of one step. @param {{ series: readonly Series[], scale: Scale }} props */
function Ranges({ series, scale }) {
  const yOf = (/** @type {number} */ value) => HEIGHT - BOTTOM - heightOf(value, scale)
  const [upper, lower] = series
  return html`
    ${upper?.values.map((value, step) => {
      const other = lower?.values[step] ?? null
      if (value === null || other === null) return null
      const x = xOf(step, scale)
      return html`<line class="grid" x1=${x} x2=${x} y1=${yOf(value)} y2=${yOf(other)} />`
    })}
    ${series.map(
      ({ tone, values }) =>
        html`<g class=${tone}>${values.map(
          (value, step) =>
            value !== null && html`<circle cx=${xOf(step, scale)} cy=${yOf(value)} r="3" />`,
        )}</g>`,
    )}`
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
