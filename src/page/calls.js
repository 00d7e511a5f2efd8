import { html, Meter } from './parts.js'
import { texts } from './texts.js'

/**
 * Who or what used calls of the last hour.
 * @typedef {{ name: string, calls: readonly number[], total: number, share: number }} Use
 */

/**
 * The series with the most calls first, with their shares of all calls. Those without a call are left out.
 * @param {readonly { name: string, calls: readonly number[] }[]} series
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

/** Each use with its share. @param {{ uses: readonly Use[] }} props */
export function UseTable({ uses }) {
  return html`<ul class="uses">${uses.map(
    ({ name, total, share }) => html`<li>
      <span class="name">${name}</span>
      <span class="n">${Math.round(total).toLocaleString()}</span>
      <span class="n muted">${texts.percent(share)}</span>
      <${Meter} share=${share} label=${texts.percent(share)} />
    </li>`,
  )}</ul>`
}
