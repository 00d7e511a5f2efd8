import { useAction } from '../hooks.js'
import { html } from '../html.js'
import { Badge, Failure } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock } from '../times.js'

/** @type {Record<string, import('../parts.js').Level>} */
const LEVELS = { pending: 'warn', delivered: 'good', dead: 'bad' }

/**
 * Deliveries with their states and last attempts. Those that are not tried any more can be sent again.
 * @param {{ deliveries: any[], named: 'record' | 'endpoint', canWatch: boolean, onChanged: () => void }} props
 */
export function Deliveries({ deliveries, named, canWatch, onChanged }) {
  const { busy, error, run } = useAction()
  const again = (/** @type {any} */ { id, endpointId }) =>
    run(() =>
      callApi(`/webhook-endpoints/${endpointId}/deliveries/${id}/retry`, { method: 'POST' }).then(
        onChanged,
      ),
    )
  return html`
    ${error && html`<${Failure} error=${error} />`}
    <ul class="plain-list deliveries">${deliveries.map((delivery) => {
      const { id, state, deadReason, seq, type, format, target, reseller, lastAttempt } = delivery
      const subject =
        named === 'endpoint'
          ? `${reseller ? `${reseller}, ` : ''}${format}: ${target}`
          : seq === null
            ? type
            : texts.deliveries.record(seq)
      return html`<li key=${id}>
        <${Badge} level=${LEVELS[state] ?? 'idle'}>${subject}: ${textOf(texts.deliveries, state)}${deadReason && ` (${textOf(texts.deliveries.deadReasons, deadReason)})`}<//>
        <span class="muted small">${when(delivery)}${lastAttempt && `, ${texts.deliveries.attempt(lastAttempt.outcome, lastAttempt.status)}`}</span>
        ${
          state === 'dead' &&
          canWatch &&
          html`<button type="button" class="plain" disabled=${busy} aria-label=${texts.endpoints.againFor(subject)}
            onClick=${() => again(delivery)}>${texts.endpoints.again}</button>`
        }</li>`
    })}</ul>`
}

/** @param {any} delivery */
function when({ state, dueAt, endedAt, recordedAt }) {
  if (state === 'pending' && dueAt) return html`<${Age} at=${dueAt} />`
  return html`<${Clock} at=${endedAt ?? recordedAt} />`
}
