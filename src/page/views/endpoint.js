/** @import { WebhookEndpoint } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { attemptText, endpointName, endpointState, receivesText, watchKinds } from '../describe.js'
import { linkTo, typed } from '../hooks.js'
import { Action, Badge, Form, html, Once, Select } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { EndpointLog } from './delivery-log.js'
import { EndpointForm } from './endpoint-form.js'

const t = texts.endpointActions

/** Earlier than any delivery. */
const EVER = '1970-01-01T00:00:00Z'

/**
 * @typedef {{ endpoint: WebhookEndpoint, onChanged: () => void, onSecret: (id: string, secret: string) => void }} ActionProps
 * @param {ActionProps & { secret: string, canWatch: boolean, ofOperators: boolean }} props
 */
export function EndpointPane({ endpoint, secret, canWatch, ofOperators, onChanged, onSecret }) {
  const { level, text } = endpointState(endpoint)
  return html`<section class="pane endpoint" aria-label=${endpointName(endpoint)}>
    <a class="back" href=${linkTo('deliveries')}>‹ ${texts.endpoints.all}</a>
    <div class="panel">
      <div class="row"><h2>${endpointName(endpoint)}</h2><${Badge} level=${level}>${text}<//></div>
      ${
        secret &&
        html`<${Once} value=${secret} more=${html`<button type="button" onClick=${() => onSecret(endpoint.id, '')}>${t.secretSaved}</button>`}>${t.secret} <code>${secret}</code><//>`
      }
      <${Facts} endpoint=${endpoint} />
      ${
        canWatch &&
        html`<${Actions} endpoint=${endpoint} onChanged=${onChanged} onSecret=${onSecret} />`
      }
    </div>
    <${EndpointForm} endpoint=${endpoint} canWatch=${canWatch} ofOperators=${ofOperators} onChanged=${onChanged} />
    <${EndpointLog} endpoint=${endpoint} canWatch=${canWatch} onChanged=${onChanged} />
  </section>`
}

/** @param {{ endpoint: WebhookEndpoint }} props */
function Facts({ endpoint }) {
  const { format, target, pending, oldestPendingAt, dead, lastSuccessAt } = endpoint
  const { heldUntil, lastFailure } = endpoint
  const words = texts.endpoints
  return html`<dl>
    <dt>${words.address}</dt><dd>${format}: <code>${target}</code></dd>
    <dt>${words.receives}</dt><dd>${receivesText(endpoint)}</dd>
    <dt>${words.waits}</dt><dd>${words.pending(pending)}${oldestPendingAt && html`, ${words.oldest} <${Age} at=${oldestPendingAt} />`}${dead > 0 && `; ${words.dead(dead)}`}</dd>
    <dt>${words.lastSuccess}</dt><dd><${Age} at=${lastSuccessAt} none=${texts.never} /></dd>
    ${heldUntil && html`<dt>${words.heldUntil}</dt><dd><${Clock} at=${heldUntil} /></dd>`}
    ${lastFailure && html`<dt>${words.lastFailure}</dt><dd>${attemptText(lastFailure)}, <${Age} at=${lastFailure.startedAt} />${lastFailure.answer && html`<pre tabindex="0">${lastFailure.answer}</pre>`}</dd>`}
  </dl>`
}

/** @param {ActionProps} props */
function Actions({ endpoint, onChanged, onSecret }) {
  const { id, enabled, format, pending } = endpoint
  const [kind, setKind] = useState('')
  /** @type {`/webhook-endpoints/${string}`} */
  const base = `/webhook-endpoints/${id}`
  /** @template {string} Verb @param {Verb} verb */
  const post = (verb) => callApi(`${base}/${verb}`, { method: 'POST' })
  const test = async () => {
    if (kind === '') await post('test')
    else await callApi(`${base}/trigger`, { method: 'POST', body: { kind } })
    onChanged()
    return kind === '' ? t.tested : t.exampleSent
  }
  const retry = async () => {
    const { due } = await post('retry')
    onChanged()
    return t.retried(due)
  }
  const examples = watchKinds().map((name) => [name, textOf(vocabulary.kinds, name)])
  const toggle = async () => {
    await callApi(base, { method: 'PATCH', body: { enabled: !enabled } })
    onChanged()
    return enabled ? t.disabled : t.enabled
  }
  const rotate = async () => {
    onSecret(id, (await post('rotate-secret')).secret ?? '')
    onChanged()
    return t.rotated
  }
  const remove = async () => {
    await callApi(base, { method: 'DELETE' })
    location.hash = linkTo('deliveries')
    onChanged()
  }
  return html`<div class="toolbar replay" role="group" aria-label=${t.title}>
      <${Select} label=${t.example} value=${kind} onChoose=${setKind} options=${[['', t.noExample], ...examples]} />
      <${Action} label=${t.test} kind="primary" disabled=${!enabled} run=${test} />
    </div>
    <details class="more"><summary>${t.more}</summary><div class="buttons">
      <${Action} label=${t.retry} disabled=${!enabled || pending === 0} run=${retry} />
      <${Action} label=${enabled ? t.disable : t.enable} run=${toggle} />
      ${format === 'webhook' && html`<${Action} label=${t.rotate} ask=${t.askRotate} run=${rotate} />`}
      <${Action} label=${texts.remove} kind="danger" ask=${t.askRemove(endpointName(endpoint))} run=${remove} />
    </div>
    <${Replay} endpoint=${endpoint} onChanged=${onChanged} /></details>`
}

/** Sends records again that have ended: a range of numbers, or what was not delivered. @param {{ endpoint: WebhookEndpoint, onChanged: () => void }} props */
function Replay({ endpoint: { id, dead }, onChanged }) {
  const [from, setFrom] = useState(1)
  const [to, setTo] = useState(1)
  const replay = async (/** @type {object} */ body) => {
    /** @type {`/webhook-endpoints/${string}/replay`} */
    const path = `/webhook-endpoints/${id}/replay`
    const { replayed } = await callApi(path, { method: 'POST', body })
    onChanged()
    return t.replayed(replayed)
  }
  const number = (/** @type {number} */ value, /** @type {(n: number) => void} */ set) =>
    html`<input type="number" required min="1" value=${value} onInput=${typed((text) => set(Number(text)))} />`
  return html`<${Form} kind="toolbar replay" button="" label=${t.again} send=${() => replay({ from, to })}>
      <label>${t.replay} ${number(from, setFrom)}</label>
      <label>${t.to} ${number(to, setTo)}</label>
    <//>
    ${dead > 0 && html`<${Action} label=${t.allDead(dead)} ask=${t.askAllDead(dead)} run=${() => replay({ diedFrom: EVER })} />`}`
}
