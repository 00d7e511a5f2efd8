import { stateName } from './describe.js'
import { html } from './html.js'
import { texts } from './texts.js'
import { clockText } from './times.js'

/**
 * What was believed of a watch in the last days, as a band. A time without availability has half the height, so that
 * colour is not its only sign.
 * @param {{ intervals: readonly { validFrom: string, validTo: string | null, state: string }[], start: number, now: number }} props
 */
export function Strip({ intervals, start, now }) {
  const x = (/** @type {string | null} */ at) =>
    at === null ? 100 : Math.min(100, Math.max(0, ((Date.parse(at) - start) / (now - start)) * 100))
  const summary = intervals
    .map(({ validFrom, state }) => `${clockText(validFrom)}: ${stateName(state)}`)
    .join('; ')
  return html`<svg class="strip" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=${summary || texts.lists.stripUnknown}>
    <rect class="none" width="100" height="10" />
    ${intervals.map(
      ({
        validFrom,
        validTo,
        state,
      }) => html`<rect class=${state} x=${x(validFrom)} y=${state === 'not_bookable' ? 5 : 0}
      width=${Math.max(0.4, x(validTo) - x(validFrom))} height=${state === 'not_bookable' ? 5 : 10}><title>${stateName(state)}, ${clockText(validFrom)}</title></rect>`,
    )}
  </svg>`
}
