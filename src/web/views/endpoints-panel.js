import { useState } from 'preact/hooks'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Empty, Failure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Age, Clock } from '../times.js'

const EVERY_MS = 10_000

/** A reseller's endpoints: whether they work, what died, a test and a form for a new one. @param {{ canWatch: boolean }} props */
export function EndpointsPanel({ canWatch }) {
  const endpoints = useResource(
    (signal) => callApi('/webhook-endpoints', { signal }).then(({ items }) => items),
    [],
    { everyMs: EVERY_MS },
  )
  return html`<details class="panel"><summary>Endpoints</summary>
    <${Loaded} of=${endpoints}>${(/** @type {any[]} */ items) => html`
      ${items.length === 0 && html`<${Empty} title="No endpoint yet.">Records can be sent to your server, to Slack, or by e-mail.<//>`}
      ${items.map((endpoint) => html`<${Endpoint} key=${endpoint.id} endpoint=${endpoint} canWatch=${canWatch} onChanged=${endpoints.reload} />`)}
      ${canWatch && html`<${NewEndpoint} onMade=${endpoints.reload} />`}
    `}<//>
  </details>`
}

/** @param {any} endpoint @returns {{ level: import('../parts.js').Level, text: string }} */
function stateOf({ enabled, disabledReason, failingSince, lastSuccessAt }) {
  if (!enabled) return { level: 'bad', text: `disabled: ${disabledReason}` }
  if (failingSince !== null) return { level: 'warn', text: 'failing' }
  return lastSuccessAt === null
    ? { level: 'idle', text: 'nothing sent yet' }
    : { level: 'good', text: 'works' }
}

/** @param {{ endpoint: any, canWatch: boolean, onChanged: () => void }} props */
function Endpoint({ endpoint, canWatch, onChanged }) {
  const { id, format, target, description, pending, dead, lastSuccessAt, failingSince } = endpoint
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined))
  const [shown, setShown] = useState(false)
  const { level, text } = stateOf(endpoint)
  const run = (
    /** @type {string} */ path,
    /** @type {string} */ method,
    /** @type {unknown} */ body,
  ) => {
    setBusy(true)
    setError(undefined)
    callApi(`/webhook-endpoints/${id}${path}`, { method, ...(body === undefined ? {} : { body }) })
      .then(onChanged, setError)
      .finally(() => setBusy(false))
  }
  return html`<section class="endpoint">
    <p><${Badge} level=${level}>${description || format}: ${text}<//></p>
    <p class="muted small"><code>${target}</code></p>
    <p class="muted small">${failingSince ? html`failing since <${Clock} at=${failingSince} />` : html`last success <${Age} at=${lastSuccessAt} none="never" />`}, ${pending} pending, ${dead} dead</p>
    <div class="buttons">
      ${canWatch && html`<${Action} label="Test" busy=${busy} onClick=${() => run('/test', 'POST', undefined)} />`}
      ${canWatch && html`<${Action} label=${endpoint.enabled ? 'Disable' : 'Enable'} busy=${busy} onClick=${() => run('', 'PATCH', { enabled: !endpoint.enabled })} />`}
      ${dead > 0 && html`<button type="button" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${texts.count(dead, 'dead delivery', 'dead deliveries')}</button>`}
    </div>
    ${error && html`<${Failure} error=${error} />`}
    ${shown && html`<${DeadDeliveries} id=${id} canWatch=${canWatch} onChanged=${onChanged} />`}
  </section>`
}

/** @param {{ id: string, canWatch: boolean, onChanged: () => void }} props */
function DeadDeliveries({ id, canWatch, onChanged }) {
  const base = `/webhook-endpoints/${id}/deliveries`
  const dead = useResource(() => callApi(`${base}?limit=20`), [id])
  const retry = (/** @type {string} */ deliveryId) =>
    void callApi(`${base}/${deliveryId}/retry`, { method: 'POST' }).then(() => {
      dead.reload()
      onChanged()
    })
  return html`<${Loaded} of=${dead}>${(/** @type {any} */ { items }) =>
    html`<ul class="plain-list">${items.map(
      (
        /** @type {any} */ {
          id: deliveryId,
          seq,
          type,
          deadReason,
          attempts,
          lastAttempt,
          endedAt,
        },
      ) => html`<li>
      ${seq === null ? type : `number ${seq}`}: ${deadReason.replaceAll('_', ' ')} after ${texts.count(attempts, 'attempt')}
      <span class="muted"> <${Clock} at=${endedAt} />${lastAttempt && `, ${lastAttempt.outcome}`}</span>
      ${canWatch && html`<button type="button" class="plain" onClick=${() => retry(deliveryId)}>Send again</button>`}</li>`,
    )}</ul>`}<//>`
}

/** @param {{ onMade: () => void }} props */
function NewEndpoint({ onMade }) {
  const [target, setTarget] = useState('')
  const [secret, setSecret] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined))
  const make = () => {
    setBusy(true)
    setError(undefined)
    const format = target.includes('://')
      ? target.includes('hooks.slack.com')
        ? 'slack'
        : 'webhook'
      : 'email'
    callApi('/webhook-endpoints', { method: 'POST', body: { format, target: target.trim() } })
      .then((made) => {
        setSecret(made.secret ?? '')
        setTarget('')
        onMade()
      }, setError)
      .finally(() => setBusy(false))
  }
  return html`<div class="preview">
    <label>New: an https address, or an e-mail address
      <input value=${target} spellcheck=${false} onInput=${(/** @type {any} */ e) => setTarget(e.currentTarget.value)} /></label>
    <${Action} label="Add" busy=${busy} disabled=${target.trim() === ''} onClick=${make} />
    ${secret && html`<p role="status">Its secret, shown once: <code>${secret}</code></p>`}
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
