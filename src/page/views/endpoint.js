import { useState } from 'preact/hooks'
import { attemptText, endpointName, endpointState, receivesText, watchKinds } from '../describe.js'
import { linkTo, onSubmit, useAction } from '../hooks.js'
import { Action, Badge, Failure, html, Select } from '../parts.js'
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
 * @typedef {{ endpoint: any, onChanged: () => void, onSecret: (id: string, secret: string) => void }} ActionProps
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
        html`<div class="notice secret" role="status"><p>${t.secret} <code>${secret}</code></p>
        ${navigator.clipboard && html`<button type="button" onClick=${() => navigator.clipboard.writeText(secret)}>${t.copy}</button>`}
        <button type="button" onClick=${() => onSecret(endpoint.id, '')}>${t.secretSaved}</button></div>`
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

/** @param {{ endpoint: any }} props */
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
  const [kind, setKind] = useState('')
  const base = `/webhook-endpoints/${id}`
  const post = (/** @type {string} */ verb) => callApi(`${base}/${verb}`, { method: 'POST' })
  const test = async () => {
    if (kind === '') await post('test')
    else await callApi(`${base}/trigger`, { method: 'POST', body: { kind } })
    return kind === '' ? t.tested : t.exampleSent
  }
  const examples = watchKinds().map((name) => [name, textOf(vocabulary.kinds, name)])
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
  return html`<div class="toolbar replay" role="group" aria-label=${t.title}>
      <${Select} label=${t.example} value=${kind} onChoose=${setKind} options=${[['', t.noExample], ...examples]} />
      <${Action} label=${t.test} kind="primary" busy=${busy} disabled=${!enabled} onClick=${() => act(test)} />
    </div>
    ${report}
    <details class="more"><summary>${t.more}</summary><div class="buttons">
      <${Action} label=${t.retry} busy=${busy} disabled=${!enabled || pending === 0} onClick=${() => act(async () => t.retried((await post('retry')).due))} />
      <${Action} label=${enabled ? t.disable : t.enable} busy=${busy} onClick=${() => act(toggle)} />
      ${format === 'webhook' && html`<${Action} label=${t.rotate} busy=${busy} onClick=${() => confirm(t.askRotate) && act(rotate)} />`}
      <${Action} label=${t.remove} kind="danger" busy=${busy} onClick=${() => confirm(t.askRemove(endpointName(endpoint))) && act(remove)} />
    </div>
    <${Replay} endpoint=${endpoint} onChanged=${onChanged} /></details>`
}

/** Sends records again that have ended: a range of numbers, or what was not delivered. @param {{ endpoint: any, onChanged: () => void }} props */
function Replay({ endpoint: { id, dead }, onChanged }) {
  const { busy, act, report } = useReportedAction(onChanged)
  const [from, setFrom] = useState(1)
  const [to, setTo] = useState(1)
  const replay = async (/** @type {object} */ body) => {
    const path = `/webhook-endpoints/${id}/replay`
    return t.replayed((await callApi(path, { method: 'POST', body })).replayed)
  }
  const submit = onSubmit(() => act(() => replay({ from, to })))
  const number = (/** @type {number} */ value, /** @type {(n: number) => void} */ set) =>
    html`<input type="number" required min="1" value=${value} onInput=${(/** @type {{ currentTarget: HTMLInputElement }} */ e) => set(e.currentTarget.valueAsNumber)} />`
  return html`<form class="toolbar replay" onSubmit=${submit}>
      <label>${t.replay} ${number(from, setFrom)}</label>
      <label>${t.to} ${number(to, setTo)}</label>
      <button type="submit" disabled=${busy}>${t.again}</button>
      ${dead > 0 && html`<${Action} label=${t.allDead(dead)} busy=${busy} onClick=${() => confirm(t.askAllDead(dead)) && act(() => replay({ diedFrom: EVER }))} />`}
    </form>
    ${report}`
}
