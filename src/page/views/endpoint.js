/** @import { WebhookEndpoint } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { attemptText, endpointName, endpointState, receivesText, watchKinds } from '../describe.js'
import { linkTo } from '../hooks.js'
import { Action, Badge, Field, Form, html, Once, Select } from '../parts.js'
import { callApi, mayChange } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { EndpointLog } from './delivery-log.js'
import { EndpointForm } from './endpoint-form.js'

const t = texts.endpointActions

/** Earlier than any delivery. */
const EVER = '1970-01-01T00:00:00Z'

/**
 * @typedef {{ endpoint: WebhookEndpoint, onSecret: (id: string, secret: string) => void }} ActionProps
 * @param {ActionProps & { secret: string }} props
 */
export function EndpointPane({ endpoint, secret, onSecret }) {
  const { level, text } = endpointState(endpoint)
  return html`<section class="pane endpoint" aria-label=${endpointName(endpoint)}>
    <a class="back" href=${linkTo('deliveries')}>‹ All endpoints</a>
    <div class="panel">
      <div class="row"><h2>${endpointName(endpoint)}</h2><${Badge} level=${level}>${text}<//></div>
      ${
        secret &&
        html`<${Once} value=${secret} more=${html`<button type="button" onClick=${() => onSecret(endpoint.id, '')}>I have saved it</button>`}>The secret, which is shown only now: <code>${secret}</code><//>`
      }
      <${Facts} endpoint=${endpoint} />
      ${mayChange() && html`<${Actions} endpoint=${endpoint} onSecret=${onSecret} />`}
    </div>
    <${EndpointForm} endpoint=${endpoint} />
    <${EndpointLog} endpoint=${endpoint} />
  </section>`
}

/** @param {{ endpoint: WebhookEndpoint }} props */
function Facts({ endpoint }) {
  const { format, target, pending, oldestPendingAt, dead, lastSuccessAt } = endpoint
  const { heldUntil, lastFailure } = endpoint
  return html`<dl>
    <dt>Address</dt><dd>${format}: <code>${target}</code></dd>
    <dt>Receives</dt><dd>${receivesText(endpoint)}</dd>
    <dt>Waiting</dt><dd>${texts.endpoints.pending(pending)}${oldestPendingAt && html`, the oldest from <${Age} at=${oldestPendingAt} />`}${dead > 0 && `; ${texts.endpoints.dead(dead)}`}</dd>
    <dt>Last success</dt><dd><${Age} at=${lastSuccessAt} none=${texts.never} /></dd>
    ${heldUntil && html`<dt>Its server asked to wait until</dt><dd><${Clock} at=${heldUntil} /></dd>`}
    ${lastFailure && html`<dt>Last error</dt><dd>${attemptText(lastFailure)}, <${Age} at=${lastFailure.startedAt} />${lastFailure.answer && html`<pre tabindex="0">${lastFailure.answer}</pre>`}</dd>`}
  </dl>`
}

/** @param {ActionProps} props */
function Actions({ endpoint, onSecret }) {
  const { id, enabled, format, pending } = endpoint
  const [kind, setKind] = useState('')
  /** @type {`/webhook-endpoints/${string}`} */
  const base = `/webhook-endpoints/${id}`
  /** @template {string} Verb @param {Verb} verb */
  const post = (verb) => callApi(`${base}/${verb}`, { method: 'POST' })
  const test = async () => {
    if (kind === '') await post('test')
    else await callApi(`${base}/trigger`, { method: 'POST', body: { kind } })
    return kind === ''
      ? 'A test event is on its way.'
      : 'An example without a number is on its way.'
  }
  const retry = async () => t.retried((await post('retry')).due)
  const examples = watchKinds().map((name) => [name, textOf(vocabulary.kinds, name)])
  const toggle = async () => {
    await callApi(base, { method: 'PATCH', body: { enabled: !enabled } })
    return enabled
      ? 'Disabled. Records wait until it is enabled.'
      : 'Enabled. It receives what it missed.'
  }
  const rotate = async () => {
    onSecret(id, (await post('rotate-secret')).secret ?? '')
    return 'The endpoint has a new secret.'
  }
  const remove = async () => {
    await callApi(base, { method: 'DELETE' })
    location.hash = linkTo('deliveries')
  }
  return html`<div class="toolbar replay" role="group" aria-label="Actions">
      <${Select} label="Send" value=${kind} onChoose=${setKind} options=${[['', 'a test event'], ...examples]} />
      <${Action} label="Test" kind="primary" disabled=${!enabled} run=${test} />
    </div>
    <details class="more"><summary>More actions</summary><div class="buttons">
      <${Action} label="Retry now" disabled=${!enabled || pending === 0} run=${retry} />
      <${Action} label=${enabled ? 'Disable' : 'Enable'} run=${toggle} />
      ${format === 'webhook' && html`<${Action} label="New secret" ask="Make a new secret? The old one signs for 24 hours." run=${rotate} />`}
      <${Action} label=${texts.remove} kind="danger" ask=${t.askRemove(endpointName(endpoint))} run=${remove} />
    </div>
    <${Replay} endpoint=${endpoint} /></details>`
}

/** Sends records again that have ended: a range of numbers, or what was not delivered. @param {{ endpoint: WebhookEndpoint }} props */
function Replay({ endpoint: { id, dead } }) {
  const replay = async (/** @type {object} */ body) => {
    /** @type {`/webhook-endpoints/${string}/replay`} */
    const path = `/webhook-endpoints/${id}/replay`
    const { replayed } = await callApi(path, { method: 'POST', body })
    return t.replayed(replayed)
  }
  const range = (/** @type {Record<string, string>} */ { from, to }) =>
    replay({ from: Number(from), to: Number(to) })
  const number = { type: 'number', required: true, min: 1, defaultValue: 1 }
  return html`<${Form} kind="toolbar replay" button="" label="Send again" send=${range}>
      <${Field} label="Send records again, from number" name="from" ...${number} />
      <${Field} label="to" name="to" ...${number} />
    <//>
    ${dead > 0 && html`<${Action} label=${t.allDead(dead)} ask=${t.askAllDead(dead)} run=${() => replay({ diedFrom: EVER })} />`}`
}
