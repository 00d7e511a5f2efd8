/** @import { AllowedAddressPage, ChosenRoutes, WebhookEndpoint } from '../api-types.ts' */
import { useEffect, useState } from 'preact/hooks'
import { endpointName, endpointState } from '../describe.js'
import { linkTo, useAnswer, useResource } from '../hooks.js'
import { Action, Badge, Empty, Field, Form, html, loaded, Select } from '../parts.js'
import { callApi, caller, mayChange, readAll, showOperators, showsOperators } from '../session.js'
import { texts } from '../texts.js'
import { EndpointPane } from './endpoint.js'

const t = texts.endpoints

/**
 * The addresses that an operator allows, and the endpoints of a reseller or of operators.
 * @param {{ path: string[] }} props
 */
export function DeliveriesView({ path }) {
  const { isOperator, reseller } = caller
  const [ofOperators, setOfOperators] = useState(reseller === null)
  showOperators(ofOperators)
  useEffect(() => () => showOperators(false), [])
  return html`${
    isOperator &&
    reseller !== null &&
    html`<${Select} label="Endpoints of" value=${ofOperators ? '' : reseller} options=${[
      [reseller, reseller],
      ['', 'operators'],
    ]} onChoose=${(/** @type {string} */ name) => setOfOperators(name === '')} />`
  }
    <${Endpoints} key=${ofOperators} path=${path} />`
}

/** Endpoints: whether they work, and one of them with its actions, settings and log. @param {{ path: string[] }} props */
function Endpoints({ path: [id] }) {
  const endpoints = useAnswer('/webhook-endpoints', 10_000)
  // Kept here, because the endpoint that it belongs to may have just been made.
  const [secret, setSecret] = useState({ of: '', text: '' })
  const keepSecret = (/** @type {string} */ of, /** @type {string} */ text) =>
    setSecret({ of, text })
  return loaded(endpoints, ({ items }) => {
    const current = items.find((endpoint) => endpoint.id === id) ?? items[0]
    return html`<div class="split endpoints ${id === undefined ? '' : 'one'}">
      <${EndpointList} endpoints=${items} current=${current} />
      ${mayChange() && html`<aside><${NewEndpoint} onMade=${keepSecret} />${!showsOperators && html`<${RoutesPanel} /><${OwnAddresses} />`}${caller.isOperator && html`<${AddressesPanel} />`}</aside>`}
      ${
        current === undefined
          ? html`<${Empty} texts=${['No endpoint yet.', showsOperators ? 'What begins to be wrong, and ends, goes to a server, a chat, or by e-mail.' : 'Records go to your server, a chat, or by e-mail.']} />`
          : html`<${EndpointPane} key=${current.id} endpoint=${current} secret=${secret.of === current.id ? secret.text : ''} onSecret=${keepSecret} />`
      }
    </div>`
  })
}

/** @param {{ endpoints: readonly WebhookEndpoint[], current: WebhookEndpoint | undefined }} props */
function EndpointList({ endpoints, current }) {
  return html`<nav aria-label="Endpoints" class="lists">
    ${endpoints.map((endpoint) => {
      const { id, target, pending, dead } = endpoint
      const { level, text } = endpointState(endpoint)
      return html`<a key=${id} href=${linkTo('deliveries', id)} aria-current=${endpoint === current ? 'page' : null}>
        <strong>${endpointName(endpoint)}</strong>
        <span class="muted small">${target}</span>
        <span class="small"><${Badge} level=${level}>${text}<//></span>
        ${pending > 0 && html`<span class="muted small">${t.pending(pending)}</span>`}
        ${dead > 0 && html`<span class="muted small">${t.dead(dead)}</span>`}
      </a>`
    })}
  </nav>`
}

/** The body of a new endpoint of the format json. */
const TEMPLATE = { text: '{sentence}' }

/** The formats, each with how its addresses look. The first that fits is offered. */
const FORMATS = [
  { name: 'email', address: /^[^:/]+@/ },
  { name: 'slack', address: /\/\/hooks\.slack\.com\// },
  { name: 'teams', address: /\.(logic\.azure|powerplatform|office)\.com[:/]/ },
  { name: 'discord', address: /\/\/discord(app)?\.com\// },
  { name: 'telegram', address: /\/\/api\.telegram\.org\// },
  { name: 'ntfy', address: /\/\/ntfy\.sh\// },
  { name: 'webhook', address: /^/ },
  { name: 'json', address: /^/ },
]

/** @param {string} target */
function formatOf(target) {
  return FORMATS.find(({ address }) => address.test(target))?.name
}

/** @param {{ onMade: (id: string, secret: string) => void }} props */
function NewEndpoint({ onMade }) {
  const make = async (
    /** @type {Record<string, string>} */ { target = '', format: chosen },
    /** @type {HTMLFormElement} */ form,
  ) => {
    const format = chosen || formatOf(target)
    const body = { format, target, ...(format === 'json' ? { template: TEMPLATE } : {}) }
    const { id, secret } = await callApi('/webhook-endpoints', { method: 'POST', body })
    onMade(id, secret ?? '')
    form.reset()
    location.hash = linkTo('deliveries', id)
  }
  const formats = FORMATS.map(({ name }) => [name, name])
  return html`<details class="panel"><summary>Add an endpoint</summary>
    <${Form} kind="watch-form" label="Add" send=${make}>
      <${Field} label="An https address, or an e-mail address" name="target" required />
      <${Select} label="Format" name="format" value="" options=${[['', 'as the address says'], ...formats]} />
    <//>
  </details>`
}

/** Chooses the changes of routes that the feed has. */
function RoutesPanel() {
  const settings = useAnswer('/own-settings')
  const save = async (/** @type {Record<string, string>} */ { routes = '' }) => {
    await callApi('/own-settings', { method: 'PATCH', body: { routes: chosenOf(routes) } })
  }
  return html`<details class="panel"><summary>Changes of routes</summary><p class="help">Your feed has the changes of these. = means both directions. An endpoint sends them if it chooses their kinds.</p>
    ${loaded(
      settings,
      ({ routes }) => html`<${Form} kind="watch-form" label=${texts.save} send=${save}>
      <${Field} label="Countries, airports and routes" name="routes" defaultValue=${chosenText(routes ?? {})} placeholder="Norway, PMI, LIS-JFK, LIS=MAD" />
    <//>`,
    )}
  </details>`
}

/** What is chosen, as the command line writes it. @param {ChosenRoutes} routes */
function chosenText({ countries = [], places = [], pairs = [] }) {
  const ends = pairs.map(
    ({ departure, destination, eitherDirection }) =>
      `${departure}${eitherDirection ? '=' : '-'}${destination}`,
  )
  return [...countries, ...places, ...ends].join(', ')
}

/** The codes of a route; the sign says whether it is meant in both directions. */
const PAIR = /^([A-Z0-9]{3})([-=])([A-Z0-9]{3})$/

/** @param {string} text */
function chosenOf(text) {
  const names = text.split(',').flatMap((name) => name.trim() || [])
  const pairs = names.flatMap((name) => {
    const [, departure, sign, destination] = PAIR.exec(name) ?? []
    return sign ? [{ departure, destination, eitherDirection: sign === '=' }] : []
  })
  const places = names.filter((name) => /^[A-Z0-9]{3}$/.test(name))
  const countries = names.filter((name) => !PAIR.test(name) && !places.includes(name))
  const chosen = Object.entries({ countries, places, pairs }).filter(([, some]) => some.length > 0)
  return chosen.length === 0 ? null : Object.fromEntries(chosen)
}

/** The e-mail addresses that an operator allows a reseller. */
function AddressesPanel() {
  const resellers = useResource(() => readAll('/resellers'), [])
  const [chosen, setChosen] = useState('')
  return loaded(resellers, (items) => {
    const name = chosen || items[0]?.name
    return html`<details class="panel"><summary>E-mail addresses of resellers</summary>
      ${
        name !== undefined &&
        html`<${Select} label="Reseller" value=${name} onChoose=${setChosen} options=${items.map((one) => [one.name, one.name])} />
        <${AddressesOf} key=${name} reseller=${name} />`
      }
    </details>`
  })
}

/** @param {{ reseller: string }} props */
function AddressesOf({ reseller }) {
  /** @type {`/resellers/${string}/addresses`} */
  const path = `/resellers/${encodeURIComponent(reseller)}/addresses`
  const allowed = useAnswer(path)
  const allow = async (
    /** @type {Record<string, string>} */ { address },
    /** @type {HTMLFormElement} */ form,
  ) => {
    await callApi(path, { method: 'PUT', body: { address } })
    form.reset()
  }
  const disallow = (/** @type {string} */ address) =>
    callApi(`${path}/disallow`, { method: 'POST', body: { address } })
  return html`${loaded(
    allowed,
    ({ items }) =>
      html`<${AddressList} items=${items} more=${(/** @type {string} */ address) => html`<${Action} label="Disallow" kind="danger" ask=${texts.addresses.ask(address)} run=${() => disallow(address)} />`} />`,
  )}
    <${Form} kind="toolbar" label="Allow" send=${allow}>
      <${Field} label="Address" name="address" required />
    <//>`
}

/** @param {AllowedAddressPage & { more?: (address: string) => unknown }} props `more`: what one does about an address */
function AddressList({ items, more }) {
  if (items.length === 0) return html`<p>No address is allowed.</p>`
  return html`<ul class="plain-list">
    ${items.map(({ address }) => html`<li><code>${address}</code> ${more?.(address)}</li>`)}
  </ul>`
}

/** What a reseller may have messages sent to. */
function OwnAddresses() {
  const allowed = useAnswer('/own-addresses')
  return html`<details class="panel"><summary>Allowed e-mail addresses</summary>
    ${loaded(allowed, AddressList)}
  </details>`
}
