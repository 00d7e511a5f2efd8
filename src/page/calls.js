import { html } from './html.js'
import { Meter } from './parts.js'
import { texts } from './texts.js'

/**
 * Who or what used calls of the last hour.
 * @typedef {{ name: string, calls: number[], total: number, share: number }} Use
 */

/**
 * The series with the most calls first, with their shares of all calls. Those without a call are left out.
 * @param {readonly { name: string, calls: number[] }[]} series
 * @returns {Use[]}
 */
export function usesOf(series) {
  const counted = series.map(({ name, calls }) => ({ name, calls, total: sum(calls) }))
  const all = sum(counted.map(({ total }) => total))
  return counted
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total)
    .map((use) => ({ ...use, share: use.total / all }))
}

/** @param {readonly number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, n) => total + n, 0)
}

/** Each use with its share and its calls by minute. @param {{ uses: readonly Use[] }} props */
export function UseTable({ uses }) {
  const most = Math.max(1, ...uses.flatMap(({ calls }) => calls))
  return html`<ul class="uses">${uses.map(
    ({ name, calls, total, share }) => html`<li>
      <span class="name">${name}</span>
      <span class="n">${Math.round(total).toLocaleString()}</span>
      <span class="n muted">${texts.percent(share)}</span>
      <${Meter} share=${share} label=${texts.percent(share)} />
      <${Minutes} calls=${calls} most=${most} label=${texts.schedule.minutes(name)} />
    </li>`,
  )}</ul>`
}

/** A bar for each minute; all series have one scale. @param {{ calls: number[], most: number, label: string }} props */
function Minutes({ calls, most, label }) {
  return html`<svg class="minutes" viewBox=${`0 0 ${calls.length} 10`} preserveAspectRatio="none" role="img" aria-label=${label}>
    ${calls.map((n, i) => html`<rect x=${i + 0.1} width="0.8" y=${10 - (10 * n) / most} height=${(10 * n) / most} />`)}
  </svg>`
}
