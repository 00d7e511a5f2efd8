import { useEffect, useState } from 'preact/hooks'
import { attemptText, endpointName, endpointState, receivesText } from '../describe.js'
import { linkTo, onSubmit, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Empty, Failure, Loaded } from '../parts.js'
import { callApi, showOperators } from '../session.js'
import { texts } from '../texts.js'
import { Age } from '../times.js'
import { AddressesPanel, OwnAddresses } from './addresses.js'
import { EndpointPane } from './endpoint.js'

const EVERY_MS = 10_000

/**
 * The addresses that an operator allows, and the endpoints of a reseller or of operators.
 * @param {{ caller: any, path: string[] }} props
 */
export function DeliveriesView({ caller, path }) {
  const { isOperator, reseller, scopes } = caller
  const [ofOperators, setOfOperators] = useState(reseller === null)
  showOperators(ofOperators)
  useEffect(() => () => showOperators(false), [])
  const canChange = scopes.includes(ofOperators ? 'operate' : 'watch')
  const choose = (/** @type {any} */ event) => setOfOperators(event.currentTarget.value === '')
  return html`${isOperator && html`<${AddressesPanel} />`}
    ${
      isOperator &&
      reseller !== null &&
      html`<label>${texts.endpoints.of} <select value=${ofOperators ? '' : reseller} onChange=${choose}>
        <option>${reseller}</option><option value="">${texts.endpoints.operators}</option></select></label>`
    }
    <${Endpoints} key=${ofOperators} canWatch=${canChange} ofOperators=${ofOperators} path=${path} />`
}

/**
 * Endpoints: whether they work, and one of them with its actions, settings and log.
 * @param {{ canWatch: boolean, ofOperators: boolean, path: string[] }} props
 */
function Endpoints({ canWatch, ofOperators, path: [id] }) {
  const endpoints = useResource(
    (signal) => callApi('/webhook-endpoints', { signal }).then(({ items }) => items),
    [],
    { everyMs: EVERY_MS },
  )
  // Kept here, because the endpoint that it belongs to may have just been made.
  const [secret, setSecret] = useState({ of: '', text: '' })
  const keepSecret = (/** @type {string} */ of, /** @type {string} */ text) =>
    setSecret({ of, text })
  return html`<${Loaded} of=${endpoints}>${(/** @type {any[]} */ items) => {
    const current = id === undefined ? items[0] : items.find((endpoint) => endpoint.id === id)
    return html`<div class="split endpoints ${id === undefined ? '' : 'one'}">
      <${EndpointList} endpoints=${items} current=${current} />
      ${canWatch && html`<aside><${NewEndpoint} onMade=${keepSecret} onChanged=${endpoints.reload} />${!ofOperators && html`<${OwnAddresses} />`}</aside>`}
      ${
        current === undefined
          ? html`<${NoEndpoint} isKnown=${id === undefined} ofOperators=${ofOperators} />`
          : html`<${EndpointPane} key=${current.id} endpoint=${current} canWatch=${canWatch} onChanged=${endpoints.reload}
            secret=${secret.of === current.id ? secret.text : ''} onSecret=${keepSecret} />`
      }
    </div>`
  }}<//>`
}

/** @param {{ isKnown: boolean, ofOperators: boolean }} props */
function NoEndpoint({ isKnown, ofOperators }) {
  const { empty, emptyHelp, operatorsHelp, noSuch, noSuchHelp } = texts.endpoints
  return isKnown
    ? html`<${Empty} title=${empty}>${ofOperators ? operatorsHelp : emptyHelp}<//>`
    : html`<${Empty} title=${noSuch}>${noSuchHelp} <a href=${linkTo('deliveries')}>${texts.endpoints.all}</a><//>`
}

/** @param {{ endpoints: any[], current: any }} props */
function EndpointList({ endpoints, current }) {
  return html`<nav aria-label=${texts.endpoints.label} class="lists">
    ${endpoints.map((endpoint) => {
      const { id, target, digest, pending, dead, oldestPendingAt, lastFailure } = endpoint
      const { level, text } = endpointState(endpoint)
      return html`<a key=${id} href=${linkTo('deliveries', id)} aria-current=${endpoint === current ? 'page' : null}>
        <strong>${endpointName(endpoint)}</strong>
        <span class="muted small">${target}</span>
        <span class="small"><${Badge} level=${level}>${text}<//></span>
        ${digest !== null && html`<span class="muted small">${receivesText(endpoint)}</span>`}
        ${level !== 'good' && lastFailure && html`<span class="muted small">${attemptText(lastFailure)}</span>`}
        ${pending > 0 && html`<span class="muted small">${texts.endpoints.pending(pending)}, ${texts.endpoints.oldest} <${Age} at=${oldestPendingAt} /></span>`}
        ${dead > 0 && html`<span class="muted small">${texts.endpoints.dead(dead)}</span>`}
      </a>`
    })}
  </nav>`
}

/** The formats that need an address alone, each with how its addresses look. The first that fits is offered. */
const FORMATS = [
  { name: 'email', address: /^[^:/]+@/ },
  { name: 'slack', address: /\/\/hooks\.slack\.com\// },
  { name: 'teams', address: /\.(logic\.azure|powerplatform|office)\.com[:/]/ },
  { name: 'discord', address: /\/\/discord(app)?\.com\// },
  { name: 'telegram', address: /\/\/api\.telegram\.org\// },
  { name: 'ntfy', address: /\/\/ntfy\.sh\// },
  { name: 'webhook', address: /^/ },
]

/** @param {string} target */
function formatOf(target) {
  return FORMATS.find(({ address }) => address.test(target))?.name
}

/** @param {{ onMade: (id: string, secret: string) => void, onChanged: () => void }} props */
function NewEndpoint({ onMade, onChanged }) {
  const [target, setTarget] = useState('')
  const [chosen, setChosen] = useState('')
  const { busy, error, run } = useAction()
  const address = target.trim()
  const format = chosen || formatOf(address)
  const make = async () => {
    const body = { format, target: address }
    const { id, secret } = await callApi('/webhook-endpoints', { method: 'POST', body })
    onMade(id, secret ?? '')
    setTarget('')
    setChosen('')
    location.hash = linkTo('deliveries', id)
    onChanged()
  }
  const submit = onSubmit(() => address !== '' && run(make))
  return html`<details class="panel"><summary>${texts.endpointForm.new}</summary>
    <form class="watch-form" onSubmit=${submit}>
      <label>${texts.endpointForm.newAddress}
        <input value=${target} spellcheck=${false} onInput=${(/** @type {any} */ e) => setTarget(e.currentTarget.value)} /></label>
      <label>${texts.endpoints.format}
        <select value=${format} onChange=${(/** @type {any} */ e) => setChosen(e.currentTarget.value)}>
          ${FORMATS.map(({ name }) => html`<option>${name}</option>`)}
        </select></label>
      <${Action} label=${texts.endpointForm.add} busy=${busy} disabled=${address === ''} onClick=${() => run(make)} />
      ${error && html`<${Failure} error=${error} />`}
    </form>
  </details>`
}
