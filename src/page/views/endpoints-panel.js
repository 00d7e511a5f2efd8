import { useState } from 'preact/hooks'
import { useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Empty, Failure, Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock } from '../times.js'
import { Deliveries } from './deliveries.js'

const EVERY_MS = 10_000
const LOGGED = 20

/** A reseller's endpoints: whether they work, their logs, a test and a form for a new one. @param {{ canWatch: boolean }} props */
export function EndpointsPanel({ canWatch }) {
  const endpoints = useResource(
    (signal) => callApi('/webhook-endpoints', { signal }).then(({ items }) => items),
    [],
    { everyMs: EVERY_MS },
  )
  return html`<details class="panel"><summary>${texts.endpoints.title}</summary>
    <${Loaded} of=${endpoints}>${(/** @type {any[]} */ items) => html`
      ${items.length === 0 && html`<${Empty} title=${texts.endpoints.empty}>${texts.endpoints.emptyHelp}<//>`}
      ${items.map((endpoint) => html`<${Endpoint} key=${endpoint.id} endpoint=${endpoint} canWatch=${canWatch} onChanged=${endpoints.reload} />`)}
      ${canWatch && html`<${NewEndpoint} onMade=${endpoints.reload} />`}
    `}<//>
  </details>`
}

/** @param {any} endpoint @returns {{ level: import('../parts.js').Level, text: string }} */
function stateOf({ enabled, disabledReason, failingSince, lastSuccessAt }) {
  if (!enabled) {
    return { level: 'bad', text: textOf(texts.endpoints.disabledReasons, disabledReason) }
  }
  if (failingSince !== null) return { level: 'warn', text: texts.endpoints.failing }
  return lastSuccessAt === null
    ? { level: 'idle', text: texts.endpoints.nothingSent }
    : { level: 'good', text: texts.endpoints.works }
}

/** @param {{ endpoint: any, canWatch: boolean, onChanged: () => void }} props */
function Endpoint({ endpoint, canWatch, onChanged }) {
  const { id, enabled, format, target, description, pending, dead } = endpoint
  const { lastSuccessAt, failingSince } = endpoint
  const { busy, error, run } = useAction()
  const [tested, setTested] = useState(false)
  const [shown, setShown] = useState(false)
  const { level, text } = stateOf(endpoint)
  const base = `/webhook-endpoints/${id}`
  const test = async () => {
    setTested(false)
    await callApi(`${base}/test`, { method: 'POST' })
    setTested(true)
    onChanged()
  }
  const toggle = async () => {
    await callApi(base, { method: 'PATCH', body: { enabled: !enabled } })
    onChanged()
  }
  return html`<section class="endpoint">
    <p><${Badge} level=${level}>${description || format}: ${text}<//></p>
    <p class="muted small"><code>${target}</code></p>
    <p class="muted small">${failingSince ? html`${texts.endpoints.failingSince} <${Clock} at=${failingSince} />` : html`${texts.endpoints.lastSuccess} <${Age} at=${lastSuccessAt} none=${texts.never} />`}, ${texts.endpoints.counts(pending, dead)}</p>
    <div class="buttons">
      ${canWatch && html`<${Action} label=${texts.endpoints.test} busy=${busy} onClick=${() => run(test)} />`}
      ${canWatch && html`<${Action} label=${enabled ? texts.endpoints.disable : texts.endpoints.enable} busy=${busy} onClick=${() => run(toggle)} />`}
      <button type="button" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${texts.endpoints.log}</button>
    </div>
    ${tested && html`<p role="status" class="small">${texts.endpoints.tested}</p>`}
    ${error && html`<${Failure} error=${error} />`}
    ${shown && html`<${Log} base=${base} canWatch=${canWatch} onChanged=${onChanged} />`}
  </section>`
}

/** The last deliveries, and those that are not tried any more. @param {{ base: string, canWatch: boolean, onChanged: () => void }} props */
function Log({ base, canWatch, onChanged }) {
  const log = useResource(
    async (signal) => {
      const [recent, dead] = await Promise.all([
        callApi(`${base}/recent-deliveries?limit=${LOGGED}`, { signal }),
        callApi(`${base}/deliveries?limit=${LOGGED}`, { signal }),
      ])
      const known = new Set(recent.items.map((/** @type {any} */ { id }) => id))
      const older = dead.items.filter((/** @type {any} */ { id }) => !known.has(id))
      return [
        ...recent.items,
        ...older.map((/** @type {any} */ one) => ({ ...one, state: 'dead' })),
      ]
    },
    [base],
    { everyMs: EVERY_MS },
  )
  const changed = () => {
    log.reload()
    onChanged()
  }
  return html`<${Loaded} of=${log}>${(/** @type {any[]} */ items) =>
    items.length === 0
      ? html`<p class="muted small">${texts.endpoints.emptyLog}</p>`
      : html`<${Deliveries} deliveries=${items} named="record" canWatch=${canWatch} onChanged=${changed} />`}<//>`
}

/** @param {string} target */
function formatOf(target) {
  if (!target.includes('://')) return 'email'
  return target.includes('hooks.slack.com') ? 'slack' : 'webhook'
}

/** @param {{ onMade: () => void }} props */
function NewEndpoint({ onMade }) {
  const [target, setTarget] = useState('')
  const [secret, setSecret] = useState('')
  const { busy, error, run } = useAction()
  const make = async () => {
    const body = { format: formatOf(target), target: target.trim() }
    const made = await callApi('/webhook-endpoints', { method: 'POST', body })
    setSecret(made.secret ?? '')
    setTarget('')
    onMade()
  }
  return html`<div class="preview">
    <label>${texts.endpoints.new}
      <input value=${target} spellcheck=${false} onInput=${(/** @type {any} */ e) => setTarget(e.currentTarget.value)} /></label>
    <${Action} label=${texts.endpoints.add} busy=${busy} disabled=${target.trim() === ''} onClick=${() => run(make)} />
    ${secret && html`<p role="status">${texts.endpoints.secret} <code>${secret}</code></p>`}
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
