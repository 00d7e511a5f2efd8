import { useState } from 'preact/hooks'
import { attemptText, endpointName, endpointState, receivesText, watchKinds } from '../describe.js'
import { linkTo, onSubmit, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Failure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { EndpointLog } from './delivery-log.js'
import { EndpointForm } from './endpoint-form.js'

/** Earlier than any delivery. */
const EVER = '1970-01-01T00:00:00Z'

/**
 * @typedef {{ endpoint: any, onChanged: () => void, onSecret: (id: string, secret: string) => void }} ActionProps
 * @param {ActionProps & { secret: string, canWatch: boolean }} props
 */
export function EndpointPane({ endpoint, secret, canWatch, onChanged, onSecret }) {
  const { level, text } = endpointState(endpoint)
  return html`<section class="pane endpoint" aria-label=${endpointName(endpoint)}>
    <a class="back" href=${linkTo('deliveries')}>‹ ${texts.endpoints.all}</a>
    <div class="panel">
      <div class="row"><h2>${endpointName(endpoint)}</h2><${Badge} level=${level}>${text}<//></div>
      ${
        secret &&
        html`<div class="notice secret" role="status"><p>${texts.endpointActions.secret} <code>${secret}</code></p>
        <button type="button" onClick=${() => onSecret(endpoint.id, '')}>${texts.endpointActions.secretSaved}</button></div>`
      }
      <${Facts} endpoint=${endpoint} />
      ${
        canWatch &&
        html`<${Actions} endpoint=${endpoint} onChanged=${onChanged} onSecret=${onSecret} />
        ${endpoint.enabled && html`<${Example} id=${endpoint.id} onChanged=${onChanged} />`}
        <${Replay} endpoint=${endpoint} onChanged=${onChanged} />`
      }
    </div>
    <${EndpointForm} endpoint=${endpoint} canWatch=${canWatch} onChanged=${onChanged} />
    <${EndpointLog} endpoint=${endpoint} canWatch=${canWatch} onChanged=${onChanged} />
  </section>`
}

/** @param {{ endpoint: any }} props */
function Facts({ endpoint }) {
  const { format, target, pending, oldestPendingAt, dead, lastSuccessAt } = endpoint
  const { failingSince, heldUntil, lastFailure, previousSecretUntil } = endpoint
  const t = texts.endpoints
  return html`<dl>
    <dt>${t.address}</dt><dd>${format}: <code>${target}</code></dd>
    <dt>${t.receives}</dt><dd>${receivesText(endpoint)}</dd>
    <dt>${t.waits}</dt><dd>${t.pending(pending)}${oldestPendingAt && html`, ${t.oldest} <${Age} at=${oldestPendingAt} />`}${dead > 0 && `; ${t.dead(dead)}`}</dd>
    <dt>${t.lastSuccess}</dt><dd><${Age} at=${lastSuccessAt} none=${texts.never} /></dd>
    ${failingSince && html`<dt>${t.failingSince}</dt><dd><${Clock} at=${failingSince} /></dd>`}
    ${heldUntil && html`<dt>${t.heldUntil}</dt><dd><${Clock} at=${heldUntil} /></dd>`}
    ${lastFailure && html`<dt>${t.lastFailure}</dt><dd>${attemptText(lastFailure)}, <${Age} at=${lastFailure.startedAt} />${lastFailure.answer && html`<pre tabindex="0">${lastFailure.answer}</pre>`}</dd>`}
    ${previousSecretUntil && html`<dt>${t.formerSecret}</dt><dd><${Clock} at=${previousSecretUntil} /></dd>`}
  </dl>`
}

/**
 * Runs what buttons do, one at a time, and says how it ended.
 * @param {() => void} onChanged
 */
function useReportedAction(onChanged) {
  const { busy, error, run } = useAction()
  const [done, setDone] = useState('')
  /** @param {() => Promise<string>} action returns the sentence that says what was done */
  const act = (action) =>
    run(async () => {
      setDone('')
      setDone(await action())
      onChanged()
    })
  const report = html`
    ${done && html`<p role="status" class="small">${done}</p>`}
    ${error && html`<${Failure} error=${error} />`}`
  return { busy, act, report }
}

/** @param {ActionProps} props */
function Actions({ endpoint, onChanged, onSecret }) {
  const { id, enabled, format, pending } = endpoint
  const { busy, act, report } = useReportedAction(onChanged)
  const t = texts.endpointActions
  const base = `/webhook-endpoints/${id}`
  const post = (/** @type {string} */ verb) => callApi(`${base}/${verb}`, { method: 'POST' })
  const test = async () => {
    await post('test')
    return t.tested
  }
  const toggle = async () => {
    await callApi(base, { method: 'PATCH', body: { enabled: !enabled } })
    return enabled ? t.disabled : t.enabled
  }
  const rotate = async () => {
    onSecret(id, (await post('rotate-secret')).secret)
    return t.rotated
  }
  const remove = async () => {
    await callApi(base, { method: 'DELETE' })
    location.hash = linkTo('deliveries')
    return ''
  }
  return html`<div class="buttons" role="group" aria-label=${t.title}>
      <${Action} label=${t.test} busy=${busy} disabled=${!enabled} onClick=${() => act(test)} />
      <${Action} label=${t.retry} busy=${busy} disabled=${!enabled || pending === 0} onClick=${() => act(async () => t.retried((await post('retry')).due))} />
      <${Action} label=${enabled ? t.disable : t.enable} busy=${busy} onClick=${() => act(toggle)} />
      ${format === 'webhook' && html`<${Action} label=${t.rotate} busy=${busy} onClick=${() => confirm(t.askRotate) && act(rotate)} />`}
      <${Action} label=${t.remove} kind="danger" busy=${busy} onClick=${() => confirm(t.askRemove(endpointName(endpoint))) && act(remove)} />
    </div>
    ${report}`
}

/** Sends an example of a kind of record. @param {{ id: string, onChanged: () => void }} props */
function Example({ id, onChanged }) {
  const { busy, act, report } = useReportedAction(onChanged)
  const [kind, setKind] = useState('became_unavailable')
  const t = texts.endpointActions
  const send = async () => {
    await callApi(`/webhook-endpoints/${id}/trigger`, { method: 'POST', body: { kind } })
    return t.exampleSent
  }
  return html`<div class="toolbar replay">
      <label>${t.example} <select value=${kind} onChange=${(/** @type {any} */ e) => setKind(e.currentTarget.value)}>
        ${watchKinds().map((name) => html`<option value=${name}>${textOf(vocabulary.kinds, name)}</option>`)}</select></label>
      <${Action} label=${t.sendExample} busy=${busy} onClick=${() => act(send)} />
    </div>
    ${report}`
}

/** Sends records again that have ended: a range of numbers, or what was not delivered. @param {{ endpoint: any, onChanged: () => void }} props */
function Replay({ endpoint: { id, dead }, onChanged }) {
  const feed = useResource((signal) => callApi('/watch-changes?limit=1', { signal }), [])
  return html`<${Loaded} of=${feed}>${(/** @type {any} */ { first, head }) =>
    head >= first &&
    html`<${ReplayForm} id=${id} dead=${dead} first=${first} head=${head} onChanged=${onChanged} />`}<//>`
}

/** @param {{ id: string, dead: number, first: number, head: number, onChanged: () => void }} props */
function ReplayForm({ id, dead, first, head, onChanged }) {
  const { busy, act, report } = useReportedAction(onChanged)
  const [from, setFrom] = useState(head)
  const [to, setTo] = useState(head)
  const t = texts.endpointActions
  const replay = async (/** @type {object} */ body) => {
    const path = `/webhook-endpoints/${id}/replay`
    return t.replayed((await callApi(path, { method: 'POST', body })).replayed)
  }
  const submit = onSubmit(() => confirm(t.askReplay(from, to)) && act(() => replay({ from, to })))
  const number = (/** @type {number} */ value, /** @type {(n: number) => void} */ set) =>
    html`<input type="number" required min=${first} max=${head} value=${value} onInput=${(/** @type {any} */ e) => set(e.currentTarget.valueAsNumber)} />`
  return html`<form class="toolbar replay" onSubmit=${submit}>
      <label>${t.replay} ${number(from, setFrom)}</label>
      <label>${t.to} ${number(to, setTo)}</label>
      <button type="submit" disabled=${busy}>${t.again}</button>
      ${dead > 0 && html`<${Action} label=${t.allDead(dead)} busy=${busy} onClick=${() => confirm(t.askAllDead(dead)) && act(() => replay({ diedFrom: EVER }))} />`}
    </form>
    ${report}`
}
